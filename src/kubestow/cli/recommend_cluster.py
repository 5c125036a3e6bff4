"""What ``kubestow recommend`` does with a cluster: read, sample, and apply after confirmation."""

from __future__ import annotations

import asyncio
import difflib
import fnmatch
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import typer
from rich.table import Table

from kubestow.cli import outputs
from kubestow.live import api, workloads
from kubestow.live.api import FORBIDDEN, NOT_FOUND, ApiError
from kubestow.model import errors
from kubestow.model.usage import Usage
from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.workflows import recommending

SAMPLE_S = 15.0  # the resolution of metrics-server
_Result = TypeVar("_Result")

Access = tuple[str | None, str | None]
"""Kubeconfig and context."""


def read_inventory(access: Access, namespaces: tuple[str, ...]) -> workloads.ClusterInventory:
    """Read the workloads of a cluster."""
    with outputs.progress_bar() as bar:
        bar.add_task("reading the cluster", total=None)
        return _ask(access, lambda client: workloads.read_inventory(client, namespaces))


def expand_namespaces(access: Access, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """Replace patterns by the names of the namespaces that match.

    Raises:
        InputError: If a namespace does not exist, or a pattern matches none.
    """
    if not namespaces:
        return namespaces
    known = _ask(access, _list_namespaces)
    patterns = [name for name in namespaces if set(name) & set("*?")]
    if known is None:
        if patterns:
            problem = "a pattern needs the right to list namespaces; expected names"
            raise errors.InputError("--namespace", f"{patterns[0]!r}: {problem}")
        return namespaces
    chosen: dict[str, None] = {}
    for name in namespaces:
        matching = fnmatch.filter(known, name)
        if not matching:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
            raise errors.InputError("--namespace", f"{name!r}: the cluster has none; {hint}")
        chosen.update(dict.fromkeys(matching))
    return tuple(chosen)


async def _list_namespaces(client: api.ApiClient) -> list[str] | None:
    """Return the names of all namespaces; ``None`` if they may not be listed."""
    try:
        listed = await api.read_list(client, "/api/v1/namespaces")
    except ApiError as err:
        if err.status in (FORBIDDEN, NOT_FOUND):
            return None
        raise
    return sorted(each["metadata"]["name"] for each in listed.items)


def sample_usage(
    access: Access,
    namespaces: tuple[str, ...],
    inventory: workloads.ClusterInventory,
    seconds: float,
    step_s: float | None,
) -> Usage:
    """Sample the resource metrics API; Ctrl-C ends sampling and keeps the samples."""
    interval_s = step_s or SAMPLE_S
    sampler = workloads.UsageSampler(interval_s)
    with outputs.progress_bar() as bar:
        task = bar.add_task("sampling metrics.k8s.io", total=1.0)

        async def collect(client: api.ApiClient) -> None:
            def watch(done: float) -> None:
                bar.update(task, completed=done)

            await workloads.collect_samples(client, namespaces, sampler, seconds, interval_s, watch)

        try:
            _ask(access, collect)
        except KeyboardInterrupt:
            if not len(sampler):
                raise
            outputs.progress_console().print(f"stopped after {len(sampler)} samples")
    table = sampler.table(inventory.workloads)
    kills = np.array([float(inventory.kills.get(key, 0)) for key in table.keys])
    return replace(table, oom_kills=kills)


def apply(
    access: Access,
    result: recommending.RecommendResult,
    min_evidence: int,
    *,
    yes: bool,
    dry_run: bool,
) -> int:
    """Show a diff, ask for confirmation, apply; return the exit code."""
    console = outputs.progress_console()
    result, thin = recommending.split_by_evidence(result, min_evidence)
    if thin:
        console.print(_skipped(thin, min_evidence), markup=False, soft_wrap=True)
    patches = recommending.make_patches(result)
    if not patches:
        console.print("nothing to change")
        return 0
    console.print(_changes(patches))
    if not yes and not dry_run:
        if not sys.stdin.isatty():
            raise errors.InputError(
                "--apply", "cannot ask for confirmation without a terminal; expected --yes"
            )
        if not typer.confirm(f"change {len(patches)} workloads?", err=True):
            console.print("nothing changed")
            return 1
    failed = 0

    async def change(client: api.ApiClient) -> None:
        nonlocal failed
        for patch in patches:
            made = await workloads.apply_patches(client, patch.key, patch.document, dry_run=dry_run)
            failed += bool(made.problem)
            what = "valid" if dry_run else "changed"
            console.print(f"{patch.key}: {made.problem or what}", markup=False, soft_wrap=True)

    _ask(access, change)
    return 1 if failed else 0


def _skipped(thin: Sequence[Recommendation], least: int) -> str:
    named = ", ".join(f"{one.key} ({one.evidence})" for one in thin)
    return f"skipped, fewer than {least} windows of usage: {len(thin)} containers: {named}"


def _changes(patches: list[recommending.Patch]) -> Table:
    table = Table("WORKLOAD", "CONTAINER", "CPU", "MEMORY", "WHY", box=None, pad_edge=False)
    for patch in patches:
        for one in patch.changed:
            now, then = recommending.say_requests(one)
            pairs = [f"{now[name]} -> {then[name]}" for name in ("cpu", "memory")]
            table.add_row(str(patch.key), one.key.container, *pairs, one.why)
    return table


def _ask(access: Access, what: Callable[[api.ApiClient], Awaitable[_Result]]) -> _Result:
    async def run() -> _Result:
        async with await api.connect(*access) as client:
            return await what(client)

    try:
        return asyncio.run(run())
    except ApiError as err:
        raise errors.InputError("--cluster", str(err)) from err
