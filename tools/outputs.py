"""Show that a refactoring changes no output: capture, change, compare.

    python -m tools.outputs capture DIR [--checkout PATH] [--only TEXT]
    python -m tools.outputs compare BEFORE AFTER

``capture`` runs every command on the examples and on generated input, every study with ``--quick``,
and stores exit code, standard output (JSON, YAML, patches) and the data files each run writes.
``compare`` expects them to be byte-identical after durations are removed, and lists differences.
Searches with a time limit (``vector-packing``) and training times (``shi-forecast``) depend on the
machine. Captured cases are stored, so an interrupted capture resumes.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Durations, and data about the checkout of a run.
_TIMING = (
    *("seconds", "wall_seconds", "fit_seconds", "predict_seconds", "processor_seconds"),
    *("seconds_mean", "seconds_max", "fit_s", "predict_s", "commit", "date", "elapsed"),
)
# Folders of finished parts, in files named by fingerprints.
_KEPT = frozenset({"cells", "kept", "runs", "scores"})
_DATA = (".json", ".jsonl", ".csv", ".yaml", ".parquet")
_LIMIT_S = 3600
_STUDIES = (
    *("schubert-packing", "adaptive-packing", "vector-packing", "schubert-forecast"),
    *("schubert-limits", "mcnaughton-scaling", "shi-forecast", "shi-scaling", "shi-balance"),
    *("shi-limits", "trace-scaling", "sizing-risks", "sizing-loop", "boettcher-requests"),
)
# This one measures the machine it runs on.
_MEASURES = frozenset({"schubert-limits"})
_SCALERS = (
    *("static", "threshold", "hpa", "hpa-legacy", "derivative", "line-fit", "arima", "gru"),
    *("arima-gru", "holt-winters", "queueing", "receding", "auto"),
)
_PROFILES = (
    *("kube-scheduler", "most-allocated", "most-allocated-balanced", "schubert-85", "clbp"),
    *("load-aware", "clbp-shortlist", "load-aware-alone", "vector-dot", "k8s-vector-dot"),
    "adaptive",
)
_RECOMMENDERS = (
    *("keep", "percentile", "krr-simple", "vpa", "level-sigma", "arima-margin", "q-learning"),
    *("limit-follow", "conformal", "auto"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the program.

    Attributes:
        name: Name of its folder.
        arguments: Arguments of ``kubestow``; ``{in}`` is the generated input, ``{out}`` a new
            folder for files.
    """

    name: str
    arguments: tuple[str, ...]


def cases(checkout: Path) -> Iterator[Case]:
    """Return all cases, quick ones first."""
    cluster, scale = "examples/first-steps/cluster.yaml", "examples/scale"
    for version in ("1.29", "1.33", "1.35", "1.37"):
        yield _json(f"place-{version}", "place", cluster, "--version", version)
    for profile in _PROFILES:
        yield _json(f"place-{profile}", "place", cluster, "--profile", profile)
    for seed in ("1", "2"):
        yield _json(f"place-seed-{seed}", "place", cluster, "--seed", seed)
    assigned = ("--assignments", "{out}/assignments.csv")
    yield _json("pack-all", "pack", cluster, "--heuristic", "all", *assigned)
    yield _json("pack-exact", "pack", cluster, "--exact", "5", *assigned)
    yield _json("pack-csv", "pack", "{in}/items.csv", "--capacity", "cpu=16,memory=64Gi", *assigned)
    for scaler in _SCALERS:
        replay = ("scale", f"{scale}/hpa.yaml", f"{scale}/observations.jsonl", "--scaler", scaler)
        yield _json(f"scale-{scaler}", *replay, "--records")
    yield _json("forecast-all", "forecast", "{in}/series.csv", "--model", "all", "--backtest")
    yield _json("forecast-auto", "forecast", "{in}/series.csv", "--horizon", "1h")
    for strategy in _RECOMMENDERS:
        yield _json(f"recommend-{strategy}", "recommend", "--csv", "{in}", "--strategy", strategy)
    for form in ("yaml", "patch"):
        yield Case(f"recommend-as-{form}", ("recommend", "--csv", "{in}", "-o", form))
    yield Case("install", ("install", "--render"))
    for path in sorted((checkout / "examples").rglob("*.yaml")):
        if "kind: Scenario" in path.read_text(encoding="utf-8"):
            scenario = str(path.relative_to(checkout))
            yield _json(f"simulate-{path.stem}", "simulate", scenario, "--out", "{out}")
    varied = ("--vary", "policies.scaling.target.cpu=0.5,0.8", "--seeds", "3")
    traffic = "examples/scenarios/traffic-step-ladder.yaml"
    yield _json("compare", "compare", traffic, *varied, "--out", "{out}")
    yield _json("demo", "demo", "--out", "{out}")
    for study in _STUDIES:
        yield _json(f"study-{study}", "study", study, "--quick", "--out", "{out}")


def _json(name: str, *arguments: str) -> Case:
    return Case(name, (*arguments, "-o", "json"))


def write_inputs(folder: Path) -> None:
    """Write usage of containers, a series and items to pack; deterministic."""
    rng = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    start, step, points = 1_790_000_000, 300, 9 * 288
    series = [
        100 + 40 * math.sin(index * math.tau / 288) + rng.gauss(0, 5) for index in range(points)
    ]
    times = [start + index * step for index in range(points)]
    _write(folder / "series.csv", ["timestamp", "value"], zip(times, series, strict=True))
    items = [
        (f"p{n}", f"{rng.randint(1, 80) * 100}m", f"{rng.randint(1, 64)}Gi") for n in range(90)
    ]
    _write(folder / "items.csv", ["name", "cpu", "memory"], items)
    columns = ["timestamp", "namespace", "kind", "workload", "pod", "container"]
    rows: list[tuple[Any, ...]] = []
    stated: list[tuple[Any, ...]] = []
    for number in range(8):
        name, level = f"app-{number}", rng.uniform(0.05, 1.5)
        workload = ("shop", "Deployment", name)
        stated.append((*workload, "main", "1", "1Gi", "2" if number % 2 else "", "2Gi"))
        for index, time_s in enumerate(times):
            load = level * (1 + 0.5 * math.sin(index * math.tau / 288)) * rng.uniform(0.8, 1.2)
            memory = int((200 + 50 * number + 20 * math.sin(index / 50) + rng.gauss(0, 4)) * 2**20)
            rows.append((time_s, *workload, f"{name}-0", "main", round(load, 5), memory))
    _write(folder / "usage.csv", [*columns, "cpu_cores", "memory_bytes"], rows)
    limits = ["cpu_request", "memory_request", "cpu_limit", "memory_limit"]
    _write(folder / "requests.csv", ["namespace", "kind", "workload", "container", *limits], stated)


def _write(path: Path, header: list[str], rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def capture(folder: Path, checkout: Path, only: str) -> None:
    """Run all cases in a checkout with an environment, and store their output and files."""
    inputs = Path(tempfile.gettempdir()) / "kubestow-outputs"
    write_inputs(inputs)
    program = checkout / ".venv" / "bin" / "kubestow"
    for case in cases(checkout):
        kept = folder / case.name
        if only not in case.name or (kept / "result.json").exists():
            continue
        shutil.rmtree(kept, ignore_errors=True)
        (kept / "out").mkdir(parents=True)
        names = {"{in}": str(inputs), "{out}": str(kept / "out")}
        arguments = [_fill(each, names) for each in case.arguments]
        began = time.monotonic()
        done = subprocess.run(  # noqa: S603 - the program of the checkout
            [str(program), *arguments],
            check=False,
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            env={**os.environ, "COLUMNS": "100"},
        )
        (kept / "stdout").write_text(done.stdout, encoding="utf-8")
        (kept / "stderr").write_text(done.stderr, encoding="utf-8")
        (kept / "result.json").write_text(json.dumps({"exit": done.returncode}), encoding="utf-8")
        _print(f"{case.name}: exit {done.returncode}, {time.monotonic() - began:.1f} s")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _fill(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def compare(before: Path, after: Path) -> int:
    """Print differences, and return the number of different cases."""
    sides = [{path.parent.name for path in side.glob("*/result.json")} for side in (before, after)]
    common, missing = sorted(sides[0] & sides[1]), sorted(sides[0] ^ sides[1])
    different = 0
    for name in common:
        problems = list(_differences(before / name, after / name))
        different += bool(problems)
        for problem in problems:
            _print(f"{name}: {problem}")
    _print(f"{len(common)} cases, {len(common) - different} equal, {different} different")
    _print(f"captured on one side only: {', '.join(missing) or 'none'}")
    return different


def _differences(before: Path, after: Path) -> Iterator[str]:
    if before.name.removeprefix("study-") in _MEASURES:
        return
    codes = [json.loads((each / "result.json").read_text())["exit"] for each in (before, after)]
    if codes[0] != codes[1]:
        yield f"exit code {codes[0]} -> {codes[1]}"
    texts = [(each / "stdout").read_text(encoding="utf-8") for each in (before, after)]
    yield from _compare(
        "stdout", *(_without_timing(text, str(before.parent), str(after.parent)) for text in texts)
    )
    files = [
        {
            str(path.relative_to(each / "out")): path
            for path in sorted((each / "out").rglob("*"))
            if path.suffix in _DATA
            and path.name != "timings.json"
            and not _KEPT.intersection(path.parts)
        }
        for each in (before, after)
    ]
    if files[0].keys() != files[1].keys():
        yield f"files {sorted(files[0].keys() ^ files[1].keys())}"
    for name in files[0].keys() & files[1].keys():
        yield from _compare(name, *(_content(each[name], before, after) for each in files))


def _content(path: Path, before: Path, after: Path) -> str:
    if path.suffix == ".parquet":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    text = path.read_text(encoding="utf-8")
    return _without_timing(text, str(before.parent), str(after.parent))


def _without_timing(text: str, *folders: str) -> str:
    for folder in folders:
        text = text.replace(folder, "DIR")
    try:
        return json.dumps(_strip(json.loads(text)), indent=0)
    except ValueError:
        pass
    try:
        return "\n".join(json.dumps(_strip(json.loads(line))) for line in text.splitlines())
    except ValueError:
        return text


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strip(each) for key, each in value.items() if key not in _TIMING}
    return [_strip(each) for each in value] if isinstance(value, list) else value


def _compare(name: str, before: str, after: str) -> Iterator[str]:
    if before == after:
        return
    old, new = before.splitlines(), after.splitlines()
    places = [n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    first = f"{old[places[0]][:120]!r} -> {new[places[0]][:120]!r}" if places else "length"
    yield f"{name}: {len(places)} lines differ, {len(old)} -> {len(new)} lines; first: {first}"


def main() -> int:
    """Capture or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    capturing = actions.add_parser("capture")
    capturing.add_argument("folder", type=Path)
    capturing.add_argument("--checkout", type=Path, default=Path(__file__).parents[1])
    capturing.add_argument("--only", default="")
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.action == "capture":
        capture(given.folder.resolve(), given.checkout.resolve(), given.only)
        return 0
    return min(compare(given.before.resolve(), given.after.resolve()), 1)


if __name__ == "__main__":
    sys.exit(main())
