"""Real child processes: asked, measured, and gone afterwards."""

import os

import pytest

from kubestow.studies.schubert.limits import child_processes


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_process_under_test_answers_and_ends() -> None:
    with child_processes.start_server() as server:
        answer = server.ask({"task": "cpu", "number": 1009})
        assert answer["answer"] == 0
        assert 0.0 < answer["seconds"] < 5.0
        pid = server.pid
    assert not is_alive(pid)


def test_loads_are_busy_and_end_even_when_interrupted() -> None:
    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupt_loads(pids)
    assert len(pids) == 2
    assert not any(map(is_alive, pids))


def interrupt_loads(pids: list[int]) -> None:
    """Start a load and the process under test, note who they are, measure, and be interrupted."""
    with (
        child_processes.start_loads([{"load": "cpu", "duty": 1.0}]) as loads,
        child_processes.start_server() as server,
    ):
        pids += [server.pid, *(child.pid for child, _ in loads)]
        meter = child_processes.start_meter([child.pid for child, _ in loads])
        server.ask({"task": "cpu", "number": 50_000_000})  # about a tenth of a second
        reached, busy = meter.read(1)
        assert 0.05 < reached < 1.5
        assert busy > 0.0
        raise KeyboardInterrupt


def test_a_child_that_dies_is_told() -> None:
    with child_processes.start_server() as server:
        server.process.kill()
        with pytest.raises(child_processes.ChildError, match="code -9"):
            server.receive()
