"""Cells come out the same wherever they run; interrupted engines leave nothing behind."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import time
from collections.abc import Callable

import pytest

from kubestow.model import errors
from kubestow.workflows.comparing import engines


def square(number: int) -> bytes:
    return str(number * number).encode()


def name_process(_: int) -> bytes:
    return str(os.getpid()).encode()


def dawdle(number: int) -> bytes:
    """Answer the first at once, the others too late for any test."""
    if number:
        time.sleep(600.0)
    return b"done"


def refuse(number: int) -> bytes:
    raise errors.InputError("cell", f"{number}: expected something else")


def collect(compute: Callable[[int], bytes], tasks: list[int], jobs: int) -> list[bytes]:
    result = dict(engines.run_local(compute, tasks, jobs))
    return [result[index] for index in range(len(tasks))]


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_every_task_has_its_answer(jobs: int) -> None:
    assert collect(square, [1, 2, 3], jobs) == [b"1", b"4", b"9"]
    assert collect(square, [], jobs) == []


def test_one_job_stays_in_this_process_and_two_do_not() -> None:
    here = str(os.getpid()).encode()
    assert collect(name_process, [1, 2], 1) == [here, here]
    assert here not in collect(name_process, [1, 2], 2)


def test_closing_ends_what_is_still_running() -> None:
    before = set(multiprocessing.active_children())
    answers = engines.run_local(dawdle, [0, 1, 2], 2)
    begun = time.monotonic()
    with contextlib.closing(answers):
        assert next(answers) == (0, b"done")
    assert time.monotonic() - begun < 60.0
    assert set(multiprocessing.active_children()) == before


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_come_through(jobs: int) -> None:
    with pytest.raises(errors.InputError, match="expected something else"):
        collect(refuse, [1, 2], jobs)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(errors.InputError, match="engine: 'spark': expected one of local, ray"):
        engines.get_engine("spark")


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(errors.InputError, match=r"pip install 'kubestow\[ray\]'"):
        engines.get_engine("ray")
