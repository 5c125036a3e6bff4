"""Reading recorded cases and building clusters from bare objects."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubestow.model import clusters, pods
from kubestow.model.decoding import fields
from kubestow.policies.placing.profiles import configuration, profile, versions
from kubestow.policies.placing.scheduler import runs
from kubestow.sources.manifests import cluster, documents

DATA = Path(__file__).parents[2] / "data"
Json = dict[str, Any]


def load(name: str) -> list[Json]:
    """Return the cases of a gzipped JSON array or JSON lines file."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        if name.endswith(".jsonl.gz"):
            return [json.loads(line) for line in file]
        cases: list[Json] = json.load(file)
        return cases


def read_profiles(config: Any) -> tuple[profile.Profile, ...]:
    """Read a configuration given as an object or as YAML text."""
    if config is None:
        return (profile.Profile(),)
    if isinstance(config, str):
        config = documents.parse_documents(config, "config.yaml")[0].value
    return configuration.read_configuration(fields.Field(config, "config.yaml"))


def build(objects: Iterable[Json]) -> clusters.Cluster:
    """Build a cluster from objects."""
    return cluster.build_cluster(
        documents.Document(f"case#{number}", value) for number, value in enumerate(objects, 1)
    )


COMPARED = ("pod", "node", "feasible", "rejected", "scores", "final", "top", "tie")


def comparable(answer: Json) -> Json:
    """Return the parts of an answer that both sides have, empty where there is nothing."""
    result = {key: answer[key] or None for key in COMPARED}
    result["feasible"] = sorted(answer["feasible"] or [])
    return result


def both_answers(case: Json, features: versions.SchedulerFeatures) -> tuple[list[Json], list[Json]]:
    """Return our answer to a case and the recorded one, ready to be compared."""
    placements = runs.place_all(build(case["objects"]), read_profiles(case.get("config")), features)
    got = [comparable(placement.as_json()) for placement in placements]
    return got, [comparable(pod) for pod in case["answer"]["pods"]]


def build_bare(objects: Iterable[Json]) -> clusters.Cluster:
    """Build a cluster from objects as small as upstream's tests use them.

    Names that an API server would insist on are filled in; pods without containers stay so.
    """
    complete = [_completed(value) for value in objects]
    cluster = build(complete)
    return replace(cluster, pods=tuple(_without_filler(pod) for pod in cluster.pods))


def _completed(value: Json) -> Json:
    value = copy.deepcopy(value)
    metadata = value.setdefault("metadata", {})
    metadata["name"] = metadata.get("name") or f"unnamed-{id(value)}"
    spec = value.setdefault("spec", {})
    if "template" in spec:
        spec["template"].setdefault("spec", {})["containers"] = [{"name": "filler"}]
    if value["kind"] != "Pod":
        return value
    _name_topologies(spec)
    for group in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(group) or []):
            container["name"] = container.get("name") or f"{group}-{number}"
    if not spec.get("containers"):
        spec["containers"] = [{"name": "filler"}]
    return value


def _name_topologies(value: Any) -> None:
    """Give an empty topology key, which no API server accepts, a name that no node has."""
    if isinstance(value, dict):
        if value.get("topologyKey") == "":
            value["topologyKey"] = "no-such-label"
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        _name_topologies(part)


def _without_filler(pod: pods.Pod) -> pods.Pod:
    kept = tuple(c for c in pod.spec.containers if c.name != "filler")
    if len(kept) == len(pod.spec.containers):
        return pod
    return replace(pod, spec=replace(pod.spec, containers=kept))
