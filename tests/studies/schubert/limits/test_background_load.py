"""Background loads: how busy they are, and that they leave memory to others."""

import io
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kubestow.studies.schubert.limits import background_load, machine_state

MIB = 2**20


def stop_after(turns: int) -> Callable[[], bool]:
    """Return a question that is answered with no so many times."""
    left = iter([False] * turns)
    return lambda: next(left, True)


def test_a_load_is_busy_for_its_share_of_the_time() -> None:
    wall_s, busy_s = time.perf_counter(), time.process_time()
    background_load.spin(0.25, 0.04, stop_after(10))
    share = (time.process_time() - busy_s) / (time.perf_counter() - wall_s)
    # Ten turns of 10 ms busy and 30 ms idle. Others on the machine can only lower the share.
    assert 0.02 < share < 0.4


def test_a_full_load_never_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: float) -> None:
        raise AssertionError("slept")

    monkeypatch.setattr(time, "sleep", refuse)
    background_load.spin(1.0, 0.001, stop_after(3))


@pytest.mark.parametrize(
    ("available", "held"),
    [(10**12, 300), (1100 * MIB + 128 * MIB, 128), (1000 * MIB, 0)],
    ids=["plenty", "room-for-one-chunk", "none-to-spare"],
)
def test_memory_is_taken_chunk_by_chunk_down_to_a_floor(available: int, held: int) -> None:
    # 300 MiB requested in chunks of 128 MiB, 1100 MiB must stay: with 1228 MiB one chunk fits.
    taken = 0

    def measure() -> int:
        nonlocal taken
        taken += 1
        return available - (taken - 1) * background_load.CHUNK_BYTES

    chunks = background_load.allocate(300 * MIB, 1100 * MIB, measure)
    assert sum(map(len, chunks)) == held * MIB


def test_memory_is_let_go_when_others_need_it() -> None:
    chunks = background_load.allocate(MIB, 0, lambda: 10**12)
    assert not background_load.keep(chunks, 100, lambda: 49, lambda: False)
    assert chunks == []


def test_held_memory_is_touched_again_and_again() -> None:
    chunks = background_load.allocate(MIB, 0, lambda: 10**12)
    assert background_load.keep(chunks, 100, lambda: 1000, stop_after(2))
    # Once when allocated, twice while kept; the second page's first byte too.
    assert chunks[0][[0, 1, 4096]].tolist() == [3, 0, 3]


def test_an_order_for_memory_tells_how_much_is_held() -> None:
    answers = io.StringIO()
    order = {"load": "memory", "bytes": MIB, "floor_bytes": 0}
    background_load.perform(io.StringIO(json.dumps(order)), answers, stop_after(1))
    assert json.loads(answers.getvalue()) == {"held_bytes": MIB}


def test_memory_that_was_let_go_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([10**12, 1])
    monkeypatch.setattr(machine_state, "available_bytes", lambda: next(readings))
    answers = io.StringIO()
    order = {"load": "memory", "bytes": MIB, "floor_bytes": 1000}
    background_load.perform(io.StringIO(json.dumps(order)), answers, lambda: False)
    reported = [json.loads(line)["held_bytes"] for line in answers.getvalue().splitlines()]
    assert reported == [MIB, 0]


def test_a_load_offers_itself_to_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "oom_score_adj"
    background_load.prefer_oom_kill(path)
    assert not path.exists()
    path.write_text("0")
    background_load.prefer_oom_kill(path)
    assert path.read_text() == "1000"
