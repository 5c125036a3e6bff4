"""Engines run the cells of a comparison: in this process, in several, or on Ray.

An engine gets a function and its arguments and yields results as they finish, each with its
position. Results are bytes that the function makes, so they do not depend on the engine.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

from kubestow.model import errors

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)

Task = TypeVar("Task")
Answers = Generator[tuple[int, bytes]]


class Engine(Protocol):
    """Computes many cells; closing the iterator stops the running ones."""

    def __call__(
        self, compute: Callable[[Task], bytes], tasks: Sequence[Task], jobs: int
    ) -> Answers:
        """Yield position and result of every task, in any order."""
        ...


def get_engine(name: str) -> Engine:
    """Return an engine by name.

    Raises:
        InputError: If there is no such engine, or Ray is not installed.
    """
    if name == LOCAL:
        return run_local
    if name == RAY:
        _import_ray()
        return run_ray
    raise errors.InputError("engine", f"{name!r}: expected one of {', '.join(ENGINES)}")


def run_local(compute: Callable[[Task], bytes], tasks: Sequence[Task], jobs: int) -> Answers:
    """Run in this process for one job, otherwise in ``jobs`` spawned processes."""
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        for index, task in enumerate(tasks):
            yield index, compute(task)
        return
    mine = set(multiprocessing.active_children())
    # Forking is unsafe once threads run, and compiled code starts some.
    pool = concurrent.futures.ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), _leave_interrupts_to_the_parent
    )
    try:
        futures = {pool.submit(_attempt, compute, task): i for i, task in enumerate(tasks)}
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], _unwrap(future.result())
    except BaseException:
        # A cell can take minutes; an interrupt must not wait for it.
        for process in set(multiprocessing.active_children()) - mine:
            process.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def run_threads(compute: Callable[[Task], bytes], tasks: Sequence[Task], jobs: int) -> Answers:
    """Run on threads of this process: for compiled code, which releases the interpreter lock.

    Closing the iterator does not wait for tasks that still run; they end by themselves.
    """
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=max(jobs, 1))
    try:
        futures = {pool.submit(compute, task): i for i, task in enumerate(tasks)}
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _attempt(compute: Callable[[Task], bytes], task: Task) -> bytes | tuple[str, str]:
    """Compute a cell; return bad input as two strings, because the error cannot be pickled."""
    try:
        return compute(task)
    except errors.InputError as err:
        return err.place, err.problem


def _unwrap(answer: bytes | tuple[str, str]) -> bytes:
    if isinstance(answer, tuple):
        raise errors.InputError(*answer)
    return answer


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_ray(compute: Callable[[Task], bytes], tasks: Sequence[Task], jobs: int) -> Answers:
    """Run on a local Ray cluster that is started and shut down here."""
    if not tasks:
        return
    ray = _import_ray()
    # Ray would otherwise report its use over the network.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local",
        num_cpus=jobs,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    try:
        remote = ray.remote(num_cpus=1, max_retries=0)(_attempt)
        waiting = {remote.remote(compute, task): index for index, task in enumerate(tasks)}
        while waiting:
            for done in ray.wait(list(waiting), num_returns=1)[0]:
                yield waiting.pop(done), _unwrap(ray.get(done))
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as err:
        raise errors.InputError(
            "engine ray", "Ray is not installed; expected: pip install 'kubestow[ray]'"
        ) from err
