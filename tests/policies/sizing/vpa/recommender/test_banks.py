"""The array form gives the recorded answers of the genuine recommender, and the oracle's bits."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa.recommender import banks, parameters, status
from tests.policies.sizing.vpa import recorded
from tests.policies.sizing.vpa.oracle import estimators
from tests.policies.sizing.vpa.oracle.memory import VpaMemory
from tests.policies.sizing.vpa.oracle.recommender import ScalarVpa

# One aggregate per container name, and no settings per container: what a bank can hold.
KINDS = ("short", "days", "long", "policies", "flags", "ties")
CASES = [
    case for case in recorded.load("random_sequences.jsonl.gz") if case["id"].split("-")[1] in KINDS
]


def name_of(case: recorded.Json) -> str:
    return str(case["id"])


class Feeder:
    """Feeds rounds of a recorded sequence to a bank: one row per container name."""

    def __init__(self, case: recorded.Json) -> None:
        self.names: list[str] = case["containers"]
        self.bank = banks.VpaBank([len(self.names)] * len(self.names), read(case))
        self.slots: dict[tuple[str, str], int] = {}
        self.collected_s = self.last_s = 0.0

    def feed(self, round_: list[object]) -> None:
        time_s, pods, samples, ooms, _ = round_
        assert isinstance(time_s, float)
        if self.last_s - self.collected_s >= 3600:
            self.bank.expire(self.last_s)
            self.collected_s = self.last_s
        self.last_s = time_s
        if isinstance(pods, list):
            self._follow([pod for pod, _, _ in pods])
        if isinstance(samples, list) and samples:
            table = list(zip(*samples, strict=True))
            cpu_m, memory = (np.array(values, dtype=np.float64) for values in table[3:5])
            cpu_m[cpu_m < 0] = memory[memory < 0] = np.nan
            requests = np.array(table[5], dtype=np.float64) / 1000
            times = np.array(table[2], dtype=np.float64)
            self.bank.add(self._where(table), times, cpu_m / 1000, memory, requests)
        if isinstance(ooms, list) and ooms:
            table = list(zip(*ooms, strict=True))
            times = np.array(table[2], dtype=np.float64)
            self.bank.kill(self._where(table), times, np.array(table[3], dtype=np.int64))

    def _where(self, table: list[tuple[str, ...]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        keys = zip(table[0], table[1], strict=True)
        return np.array([self.slots[key] for key in keys], dtype=np.int64)

    def _follow(self, pods: list[str]) -> None:
        gone = [key for key in self.slots if key[0] not in pods]
        self.bank.release([self.slots.pop(key) for key in gone])
        new = [(pod, name) for pod in pods for name in self.names if (pod, name) not in self.slots]
        places = self.bank.place([self.names.index(name) for _, name in new])
        self.slots.update(zip(new, places.tolist(), strict=True))


def read(case: recorded.Json) -> parameters.VpaParameters:
    return recorded.read_parameters(case)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_bank_estimates_what_the_scalar_form_estimates(case: recorded.Json) -> None:
    vpa = ScalarVpa(read(case))
    memory, feeder = VpaMemory(), Feeder(case)
    for round_ in case["rounds"]:
        memory = vpa.observe(memory, recorded.read_news(case, round_))
        feeder.feed(round_)
        if round_[4] & 1:
            table = feeder.bank.recommend()
            for name, part in memory.by_name(vpa.gathering).items():
                expected = estimators.estimate(part, vpa.parameters, len(feeder.names))
                assert table.row(feeder.names.index(name)) == expected, name


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_what_a_bank_presents_is_what_the_genuine_recommender_answered(case: recorded.Json) -> None:
    policies = recorded.read_policies(case["policy"])
    feeder = Feeder(case)
    on = [name for name in feeder.names if not container_policies.find(policies, name).off]
    feeder.bank = banks.VpaBank([max(len(on), 1)] * len(feeder.names), read(case))
    answers = list(case["answers"])
    for round_ in case["rounds"]:
        feeder.feed(round_)
        if round_[4] & 1:
            table = feeder.bank.recommend()
            estimates = {name: table.row(feeder.names.index(name)) for name in on}
            presented = status.present(estimates, feeder.bank.parameters, policies)
            assert recorded.plain(presented) == answers.pop(0), round_[0]
    assert not answers


def test_rows_can_be_asked_for_singly() -> None:
    bank = banks.VpaBank([1, 2])
    table = bank.recommend(np.array([1]))
    # No history: target and bounds are the floors, 25 m and 250 MiB over two containers.
    assert table.cpu_m.tolist() == [[12, 12, 12]]
    assert table.memory_bytes.tolist() == [[131072000, 131072000, 131072000]]


def test_slots_of_pods_that_are_gone_are_used_again() -> None:
    bank = banks.VpaBank([1])
    first = bank.place([0, 0, 0])
    bank.release(first[:2].tolist())
    assert set(bank.place([0, 0]).tolist()) == set(first[:2].tolist())


def test_a_half_life_beyond_a_year_is_refused() -> None:
    with pytest.raises(errors.InputError, match="half_life_s"):
        banks.VpaBank([1], parameters.VpaParameters(cpu_half_life_s=4e7))
