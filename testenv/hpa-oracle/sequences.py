"""Draws random autoscalers and observations for hpa-oracle.

``python sequences.py generate --count N --seed S`` writes cases, one JSON object per line;
``python sequences.py join CASES ANSWERS`` writes each case with its answer, shortened to what tests
compare. Replicas mostly follow the decisions of the ``hpa`` scaler of kubestow, so that sequences
are realistic; the expected decisions come from the genuine controller.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

from kubestow.model.decoding import fields
from kubestow.policies.scaling import observation_lines
from kubestow.policies.scaling.hpa import configuration, versions
from kubestow.policies.scaling.hpa import hpa as hpa_hpa

Case = dict[str, Any]

_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
_SELECTORS = (
    None,
    None,
    {"matchLabels": {"queue": "jobs"}},
    {"matchExpressions": [{"key": "q", "operator": "In", "values": ["a", "b"]}]},
)
_STEPS_S = (1.0, 2.001, 5.0, 10.0, 15.0, 15.0, 15.0, 15.013, 20.0, 30.0, 45.0, 60.0, 150.0, 300.0)
_RATIOS = (0.0, 0.5, 0.89, 0.9, 0.91, 0.95, 1.0, 1.0, 1.05, 1.09, 1.1, 1.11, 1.5, 2.0, 3.7, 12.0)
_TOLERANCES = ("0", "0.05", "0.1", "50m", "75m", "200m", "0.3", "1", "100u")


class Drawer:
    """Draws cases from one seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.mood: float | None = None  # the ratio of a quiet or busy period

    def case(self, name: str, version: str = versions.DEFAULT_VERSION) -> Case:
        """Draw an autoscaler and a sequence of observations."""
        hpa = self._autoscaler(version)
        features = versions.hpa_features(version)
        spec = configuration.read_autoscaler(fields.Field(hpa, name), features)
        scaler = hpa_hpa.Hpa(spec, hpa_hpa.HpaParameters(version=version))
        memory = scaler.start()
        replicas = self.draw.randint(max(spec.min_replicas, 1), spec.max_replicas)
        time_s, lines = round(self.draw.random() * 5, 3), []
        for _ in range(self.draw.randint(6, 26)):
            if self.draw.random() < 0.2:
                self.mood = self.draw.choice((None, 0.0, 0.0, 0.6, 1.6))
            line = self._observation(hpa, time_s, replicas)
            lines.append(line)
            decision, memory = scaler.decide(
                observation_lines.read(fields.Field(line, name), features), memory
            )
            replicas = decision.desired
            if self.draw.random() < 0.06:  # an external change of the scale target
                bounds = (spec.min_replicas, spec.max_replicas, spec.max_replicas + 3)
                replicas = self.draw.choice((0, 1, 4, *bounds))
            time_s = round(time_s + self._step(), 3)
        return {"id": name, "hpa": hpa, "observations": lines}

    def _step(self) -> float:
        step = self.draw.choice(_STEPS_S)
        return step if self.draw.random() < 0.8 else step + self.draw.random()

    def _autoscaler(self, version: str) -> Case:
        count = self.draw.choice((1, 1, 1, 2, 2, 3))
        metrics = [self._metric(index) for index in range(count)]
        single = any(metric["type"] in ("Object", "External") for metric in metrics)
        floor = 0 if single and versions.hpa_features(version).scale_to_zero else 1
        least = floor if floor == 0 and self.draw.random() < 0.5 else self.draw.choice((1, 1, 2, 3))
        spec: Case = {
            "scaleTargetRef": _TARGET,
            "minReplicas": least,
            "maxReplicas": least + self.draw.choice((1, 5, 8, 10, 12, 20, 40)),
            "metrics": metrics,
        }
        if self.draw.random() < 0.6:
            spec["behavior"] = self._behavior()
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "target"},
            "spec": spec,
        }

    def _metric(self, index: int) -> Case:
        kind = self.draw.choice(
            ("External", "External", "External", "Object", "Pods", "Pods", "Resource", "Resource",
             "ContainerResource")
        )  # fmt: skip
        name = f"m{index}"
        identifier: Case = {"name": name}
        selector = self.draw.choice(_SELECTORS)
        if selector is not None:
            identifier["selector"] = selector
        if kind == "Pods":
            return {"type": kind, "pods": {"metric": identifier, "target": self._amount(True)}}
        if kind == "External":
            target = self._amount(self.draw.random() < 0.5)
            return {"type": kind, "external": {"metric": identifier, "target": target}}
        if kind == "Object":
            described = {"apiVersion": "v1", "kind": "Service", "name": "front"}
            target = self._amount(self.draw.random() < 0.5)
            entry = {"metric": identifier, "target": target, "describedObject": described}
            return {"type": kind, "object": entry}
        resource: Case = {"name": self.draw.choice(("cpu", "cpu", "memory"))}
        if self.draw.random() < 0.7:
            percent = self.draw.choice((10, 50, 60, 80, 100, 130))
            resource["target"] = {"type": "Utilization", "averageUtilization": percent}
        else:
            amount = self.draw.choice(("100m", "0.25", "1", "64Mi"))
            resource["target"] = {"type": "AverageValue", "averageValue": amount}
        if kind == "ContainerResource":
            return {"type": kind, "containerResource": {**resource, "container": "app"}}
        return {"type": kind, "resource": resource}

    def _amount(self, average: bool) -> Case:
        amount = self.draw.choice(("10", "7", "1", "100m", "33.3", "12500m", "1k", "0.001"))
        if average:
            return {"type": "AverageValue", "averageValue": amount}
        return {"type": "Value", "value": amount}

    def _behavior(self) -> Case:
        behavior: Case = {}
        for direction in ("scaleUp", "scaleDown"):
            if self.draw.random() < 0.75:
                behavior[direction] = self._rules()
        return behavior

    def _rules(self) -> Case:
        rules: Case = {}
        if self.draw.random() < 0.6:
            rules["stabilizationWindowSeconds"] = self.draw.choice((0, 1, 15, 30, 60, 120, 300))
        if self.draw.random() < 0.5:
            rules["selectPolicy"] = self.draw.choice(("Max", "Min", "Min", "Disabled"))
        if self.draw.random() < 0.6:
            rules["policies"] = [
                {
                    "type": self.draw.choice(("Pods", "Percent")),
                    "value": self.draw.choice((1, 2, 3, 10, 25, 50, 100, 150)),
                    "periodSeconds": self.draw.choice((1, 15, 15, 30, 60, 61, 120, 1800)),
                }
                for _ in range(self.draw.choice((1, 1, 2, 3)))
            ]
        if self.draw.random() < 0.4:
            rules["tolerance"] = self.draw.choice(_TOLERANCES)
        return rules

    def _observation(self, hpa: Case, time_s: float, replicas: int) -> Case:
        line: Case = {"t": time_s, "currentReplicas": replicas}
        present = replicas
        if self.draw.random() < 0.3:
            present = max(0, replicas + self.draw.choice((-2, -1, 1)))
        if present != replicas or self.draw.random() < 0.5:
            line["statusReplicas"] = present
        names = [f"p{index}" for index in range(present)]
        facts = {name: self._facts(time_s) for name in names}
        kinds = {metric["type"] for metric in hpa["spec"]["metrics"]}
        if kinds & {"Resource", "ContainerResource"} or self.draw.random() < 0.5:
            line["pods"] = facts
        line["metrics"] = {}
        for metric in hpa["spec"]["metrics"]:
            key, value = self._reading(metric, names, facts, present)
            if self.draw.random() < 0.97:
                line["metrics"][key] = value
        return line

    def _facts(self, time_s: float) -> Case:
        draw = self.draw
        facts: Case = {}
        if draw.random() < 0.12:
            facts["ready"] = draw.choice((False, False, None))
        if draw.random() < 0.08:
            facts["phase"] = draw.choice(("Pending", "Pending", "Failed", "Succeeded", "Unknown"))
        if draw.random() < 0.35:
            facts["started"] = round(time_s - draw.choice((5, 30, 100, 299, 300, 301, 600)), 3)
            if draw.random() < 0.5:
                facts["readySince"] = round(facts["started"] + draw.choice((0, 5, 29, 30, 31)), 3)
        if draw.random() < 0.02:
            facts["started"] = None
        if draw.random() < 0.03:
            facts["deleted"] = True
        if draw.random() < 0.3:
            facts["sampled"] = round(time_s - draw.choice((0, 1, 15, 30)), 3)
            facts["window"] = draw.choice((0, 15, 30, 60))
        shares = {"cpu": draw.choice(("100m", "250m", "0.5")), "memory": "128Mi"}
        if draw.random() < 0.01:
            del shares["cpu"]
        facts["containers"] = {"app" if draw.random() < 0.98 else "other": shares}
        if draw.random() < 0.3:
            facts["containers"]["side"] = {"cpu": "50m", "memory": "16Mi"}
        if draw.random() < 0.05:
            facts["podRequests"] = {"cpu": "800m"}
        return facts

    def _reading(
        self, metric: Case, names: list[str], facts: Case, present: int
    ) -> tuple[str, Any]:
        kind = metric["type"]
        entry = metric[kind[0].lower() + kind[1:]]
        ratio = self.draw.choice(_RATIOS)
        if self.mood is not None and self.draw.random() < 0.8:
            ratio = self.mood
        elif self.draw.random() < 0.3:
            ratio = self.draw.random() * 2.5
        key = entry["metric"]["name"] if "metric" in entry else entry["name"]
        key = f"app/{key}" if kind == "ContainerResource" else key
        if self.draw.random() < 0.05:
            return key, "error"
        if kind in ("External", "Object"):
            return key, self._single(kind, entry["target"], ratio, present)
        samples: Case = {}
        for name in names:
            wide = ratio * self.draw.choice((1.0, 1.0, self.draw.random() * 2))
            samples[name] = self._sample(entry, facts[name], wide)
            if self.draw.random() < 0.06:
                samples[name] = None
        return key, samples

    def _single(self, kind: str, target: Case, ratio: float, present: int) -> Any:
        if self.draw.random() < 0.01:
            return self.draw.choice((9e15, "9Ei", -5))
        level = _plain(target.get("averageValue") or target["value"])
        value = round(level * ratio * (present if "averageValue" in target else 1), 4)
        if kind == "External" and self.draw.random() < 0.15:
            return [round(value / 2, 4), round(value / 2, 4)]
        return value

    def _sample(self, entry: Case, facts: Case, ratio: float) -> Any:
        target = entry["target"]
        if "averageValue" in target:
            return round(_plain(target["averageValue"]) * ratio, 4)
        requested = next(iter(facts["containers"].values())).get(entry["name"], "1")
        return round(_plain(requested) * target["averageUtilization"] / 100 * ratio, 4)


def _plain(quantity: str) -> float:
    return float(fields.Field(quantity, "drawn").quantity().nano) / 1e9


def _shorten(case: Case, answer: Case) -> Case:
    """Reduce an answer to what tests compare; messages are kept where they vary."""
    syncs = [
        {
            "proposed": sync["proposed"],
            "desired": sync["desired"],
            "conditions": {kind: value[:2] for kind, value in sync["conditions"].items()},
            "rescaleReason": sync.get("rescaleReason", ""),
            "error": sync.get("error", ""),
        }
        for sync in answer["syncs"]
    ]
    return {**case, "syncs": syncs}


def main() -> None:
    """Write cases, or join them with their answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    generate = commands.add_parser("generate")
    generate.add_argument("--count", type=int, default=200)
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument("--version", default=versions.DEFAULT_VERSION)
    join = commands.add_parser("join")
    join.add_argument("cases", type=Path)
    join.add_argument("answers", type=Path)
    options = parser.parse_args()
    if options.command == "generate":
        drawer = Drawer(options.seed)
        for index in range(options.count):
            case = drawer.case(f"{options.seed}-{index}", options.version)
            sys.stdout.write(json.dumps(case, separators=(",", ":")) + "\n")
        return
    cases, answers = options.cases.read_text(), options.answers.read_text()
    for case, answer in zip(cases.splitlines(), answers.splitlines(), strict=True):
        joined = _shorten(json.loads(case), json.loads(answer))
        sys.stdout.write(json.dumps(joined, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
