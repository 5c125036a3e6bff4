"""In-tree volumes as the CSI drivers that replaced their plugins see them.

Names, handles and topology keys are those of ``k8s.io/csi-translation-lib`` (v0.37). Azure File and
vSphere are left out: kube-scheduler does not count them as migrated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubestow.model import selectors
from kubestow.model.volumes.objects import Terms

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_UNSPECIFIED = "UNSPECIFIED"
_DELIMITER = "__"  # between the zones of a label
_EBS_ID = re.compile(r"aws://[^/]*/+(vol-[^/]*)/*")


@dataclass(frozen=True, slots=True)
class Migration:
    """An in-tree plugin, the driver that replaced it, and the driver's topology label."""

    plugin: str
    driver: str
    topology_key: str = ""


# By the field of a volume that holds the in-tree source.
MIGRATIONS: Mapping[str, Migration] = {
    "awsElasticBlockStore": Migration(
        "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"
    ),
    "gcePersistentDisk": Migration(
        "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"
    ),
    "azureDisk": Migration("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": Migration(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
    ),
    "portworxVolume": Migration("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
MIGRATED_DRIVERS: Mapping[str, str] = {m.plugin: m.driver for m in MIGRATIONS.values()}
# Replaced as well, but never counted as replaced by the scheduler.
UNCOUNTED_PLUGINS = ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")


def inline_handle(source: str, name: str) -> str:
    """Return the handle of an inline disk."""
    return migrated_handle(source, name, {})


def migrated_handle(source: str, name: str, labels: Mapping[str, str]) -> str:
    """Return the driver's handle of an in-tree disk; empty where it cannot be translated."""
    if source == "awsElasticBlockStore" and name.startswith("aws://"):
        matched = _EBS_ID.fullmatch(name)
        return matched.group(1) if matched else ""
    if source != "gcePersistentDisk":
        return name
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(_DELIMITER)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{name}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    return f"projects/{_UNSPECIFIED}/regions/{min(regions)}/disks/{name}"


def migrated_affinity(terms: Terms | None, labels: Mapping[str, str], key: str) -> Terms | None:
    """Return a node affinity with the zone under the driver's topology label.

    Zones come from the affinity, or else from the labels of the volume.
    """
    if not key:
        return terms
    zone, region = _labels_used(terms or (), labels)
    if any(r.key == zone and r.values for t in terms or () for r in t.expressions):
        terms = _renamed(terms or (), zone, key)
    elif zone in labels:
        zones = {part.strip() for part in labels[zone].split(_DELIMITER)} - {""}
        if zones:
            wanted = selectors.Requirement(key, selectors.IN, tuple(sorted(zones)))
            present = terms or (selectors.NodeSelectorTerm(),)
            terms = tuple(replace(t, expressions=(*t.expressions, wanted)) for t in present)
    if region == BETA_REGION and terms is not None:
        terms = _renamed(terms, BETA_REGION, REGION)
    return terms


def _labels_used(terms: Terms, labels: Mapping[str, str]) -> tuple[str, str]:
    keys = {r.key for term in terms for r in term.expressions}
    for known in (keys, labels):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _renamed(terms: Terms, old: str, new: str) -> Terms:
    return tuple(
        replace(
            term,
            expressions=tuple(replace(r, key=new) if r.key == old else r for r in term.expressions),
        )
        for term in terms
    )
