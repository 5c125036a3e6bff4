"""Random cases of ``scheduler-oracle/cases.py`` for a single running scheduler.

Every case gets unique names, and every profile of its configuration becomes a profile of the one
configuration of the scheduler. Preemption is off everywhere: cases are about placement, and
preemption has its own tests.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from testenv import building, parity_volumes

Json = dict[str, Any]

_MOST_NODES, _MOST_PODS = 8, 24  # small cases, to run many
_LEAST_PENDING = 2
# Names of nodes, volumes, claims, classes and drivers, also in references.
_OWN_NAME = re.compile(
    r"n\d\d|pv\d+|claim\d+|attached\d+|capacity-\d+|wait|now|local|tracked|ebs"
    r"|(csi|capacity)\.example\.com"
)
DEFAULT_PROFILE = "default-scheduler"
NAMESPACES = ("team-a", "team-b")


@dataclass(frozen=True, slots=True)
class Case:
    """A case with unique names.

    Attributes:
        name: Name of the case.
        features: Features that it covers.
        objects: Nodes, services, controllers, pods; without namespaces, which all cases share.
        profiles: Scheduler profiles of its pods.
    """

    name: str
    features: tuple[str, ...]
    objects: tuple[Json, ...]
    profiles: tuple[Json, ...]

    def of_kind(self, *kinds: str) -> list[Json]:
        """Return the objects of some kinds."""
        return [item for item in self.objects if item["kind"] in kinds]


def generate(count: int, seed: int, maker: str = "cases.py") -> Iterator[Case]:
    """Yield the small cases that a running scheduler can decide.

    Left out are configurations that the scheduler refuses, and extenders, which apply to all
    profiles.

    Args:
        count: Number of cases to generate.
        seed: Seed of the generator.
        maker: The generator, a script beside the oracle.
    """
    script = building.HERE / "scheduler-oracle" / maker
    command = [sys.executable, str(script), "generate", f"--count={count}", f"--seed={seed}"]
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)  # noqa: S603 - our own
    for line in made.stdout.splitlines():
        case = json.loads(line)
        kinds = [item["kind"] for item in case["objects"]]
        small = kinds.count("Node") <= _MOST_NODES and kinds.count("Pod") <= _MOST_PODS
        config = case.get("config", {})
        if small and "config_invalid" not in case["features"] and not config.get("extenders"):
            yield _adapt(case)


def configuration(cases: Iterable[Case]) -> Json:
    """Return the configuration of a scheduler that has the profiles of all cases."""
    default = _without_preemption({"schedulerName": DEFAULT_PROFILE})
    return {
        "percentageOfNodesToScore": 100,
        "profiles": [default, *(profile for case in cases for profile in case.profiles)],
    }


def runtime_class(overhead: Mapping[str, str]) -> str:
    """Return the name of the runtime class with an overhead."""
    return "-".join(["overhead", *(overhead[key].lower() for key in sorted(overhead))])


def _adapt(case: Json) -> Case:
    name = case["id"]
    renamed = _rename(case, name)
    stated = renamed.get("config", {}).get("profiles", [])
    names = {profile["schedulerName"]: f"{name}-{profile['schedulerName']}" for profile in stated}
    profiles = [
        _without_preemption({**profile, "schedulerName": names[profile["schedulerName"]]})
        for profile in stated
    ]
    objects = [made for made in renamed["objects"] if made["kind"] != "Namespace"]
    if any(made["kind"] in parity_volumes.KINDS for made in objects):
        objects = parity_volumes.adapt(objects)
    for made in objects:
        if made["kind"] == "Pod":
            _adapt_pod(made, name, names)
    objects += _more_pending(objects)
    return Case(name, tuple(case["features"]), tuple(objects), tuple(profiles))


def _rename(value: Any, prefix: str) -> Any:
    if isinstance(value, dict):
        return {key: _rename(part, prefix) for key, part in value.items()}
    if isinstance(value, list):
        return [_rename(part, prefix) for part in value]
    if isinstance(value, str) and _OWN_NAME.fullmatch(value):
        return f"{prefix}-{value}"
    return value


def _adapt_pod(pod: Json, prefix: str, names: Mapping[str, str]) -> None:
    spec = pod["spec"]
    pod["metadata"]["name"] = f"{prefix}-{pod['metadata']['name']}"
    profile = spec.get("schedulerName", DEFAULT_PROFILE)
    spec["schedulerName"] = names.get(profile, profile)
    spec.pop("priority", None)  # an API server accepts only classes; pods come one by one anyway
    if "overhead" in spec:
        spec["runtimeClassName"] = runtime_class(spec.pop("overhead"))


def _more_pending(objects: list[Json]) -> list[Json]:
    """Return copies of the last pending pod, so that most cases also have equal pods."""
    pending = [
        made for made in objects if made["kind"] == "Pod" and not made["spec"].get("nodeName")
    ]
    copies = []
    for number in range(_LEAST_PENDING - len(pending)):
        copied = json.loads(json.dumps(pending[-1]))
        copied["metadata"]["name"] += f"-{number}"
        copies.append(copied)
    return copies


def _without_preemption(profile: Json) -> Json:
    plugins = {**profile.get("plugins", {}), "postFilter": {"disabled": [{"name": "*"}]}}
    return {**profile, "plugins": plugins}
