"""Nodes in short form: ``3x8cpu-32Gi``, or an instance type of a cloud, ``3xm5.xlarge``.

An instance type is read by the naming rules of its provider: family for the memory per vCPU, size
for the vCPUs. What the kubelet reserves is not subtracted, since it differs between distributions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from kubestow.model import errors, nodes, quantities, resources

MOST_NODES = 100_000
PODS = "110"
"""Pods per node, the default of the kubelet."""

DISK = "100Gi"
"""Ephemeral storage of a node; shapes do not state it."""

_PART = re.compile(r"(?:(?P<count>\d+)x)?(?P<shape>.+)")
_SHAPE = re.compile(r"(?P<cpu>[\d.]+m?)cpu-(?P<memory>[\d.]+(?:[KMGT]i?)?)")
_EXPECTED = "expected COUNTxSHAPE such as 3x8cpu-32Gi or 3xm5.xlarge, separated by commas"

# GiB of memory per vCPU by the first letter of the family.
_AWS = {"m": Fraction(4), "c": Fraction(2), "r": Fraction(8), "x": Fraction(16)}
_AWS_TYPE = re.compile(r"(?P<family>[mcrx])\d[a-z-]*\.(?P<size>(?P<times>\d*)x)?large")
_GCP = {"standard": Fraction(4), "highmem": Fraction(8), "highcpu": Fraction(1)}
_GCP_N1 = {"standard": Fraction(15, 4), "highmem": Fraction(13, 2), "highcpu": Fraction(9, 10)}
_GCP_TYPE = re.compile(r"(?P<series>[a-z]\d[a-z]?)-(?P<kind>standard|highmem|highcpu)-(?P<cpu>\d+)")
_AZURE = {"D": Fraction(4), "E": Fraction(8), "F": Fraction(2)}
_AZURE_TYPE = re.compile(r"Standard_(?P<family>[DEF])(?P<cpu>\d+)[a-z]*(?:_v\d+)?")


def parse_nodes(text: str) -> tuple[nodes.Node, ...]:
    """Return the nodes that a text describes.

    >>> [node.name for node in parse_nodes("2x8cpu-32Gi,m5.xlarge")]
    ['node-1', 'node-2', 'node-3']
    """
    shapes = [shape for part in text.split(",") for shape in _repeated(part.strip())]
    if not 0 < len(shapes) <= MOST_NODES:
        raise errors.InputError("nodes", f"{text!r}: {_EXPECTED}, at most {MOST_NODES} nodes")
    width = len(str(len(shapes)))
    return tuple(
        nodes.Node(name, offered, nodes.usual_labels(name))
        for name, offered in ((f"node-{i:0{width}d}", s) for i, s in enumerate(shapes, 1))
    )


def _repeated(part: str) -> Iterator[resources.ResourceList]:
    match = _PART.fullmatch(part)
    if match is None:
        raise errors.InputError("nodes", f"{part!r}: {_EXPECTED}")
    count = int(match["count"] or "1")
    if count > MOST_NODES:
        raise errors.InputError("nodes", f"{part!r}: {_EXPECTED}, at most {MOST_NODES} nodes")
    cpu, memory = _amounts(match["shape"], part)
    offered = {
        resources.CPU: cpu,
        resources.MEMORY: memory,
        resources.EPHEMERAL_STORAGE: quantities.parse(DISK),
        resources.PODS: quantities.parse(PODS),
    }
    for _ in range(count):
        yield offered


def _amounts(shape: str, part: str) -> tuple[quantities.Quantity, quantities.Quantity]:
    match = _SHAPE.fullmatch(shape)
    if match is not None:
        try:
            return quantities.parse(match["cpu"]), quantities.parse(match["memory"])
        except ValueError as error:
            raise errors.InputError("nodes", f"{part!r}: {error}") from error
    vcpus, gib = _instance(shape) or (0, Fraction(0))
    if not vcpus:
        raise errors.InputError("nodes", f"{part!r}: {_EXPECTED}")
    mebibytes = int(gib * vcpus * 1024)
    return quantities.parse(str(vcpus)), quantities.parse(f"{mebibytes}Mi")


def _instance(shape: str) -> tuple[int, Fraction] | None:
    """Return the vCPUs of an instance type and its GiB per vCPU; ``None`` if it is not known."""
    aws = _AWS_TYPE.fullmatch(shape)
    if aws is not None:
        # large has 2 vCPUs, xlarge 4, 2xlarge 8, and so on.
        vcpus = 2 if aws["size"] is None else 4 * int(aws["times"] or "1")
        return vcpus, _AWS[aws["family"]]
    gcp = _GCP_TYPE.fullmatch(shape)
    if gcp is not None:
        table = _GCP_N1 if gcp["series"] == "n1" else _GCP
        return int(gcp["cpu"]), table[gcp["kind"]]
    azure = _AZURE_TYPE.fullmatch(shape)
    if azure is not None:
        return int(azure["cpu"]), _AZURE[azure["family"]]
    return None
