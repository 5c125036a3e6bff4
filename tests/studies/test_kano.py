"""The Kano survey, recomputed."""

from __future__ import annotations

from kubestow.studies import kano


def test_categories_follow_from_the_raw_answers() -> None:
    found = {e.requirement: e.category for e in kano.survey()}
    assert list(found.values()) == ["A", "M", "A", "A", "A", "I", "M", "I"]


def test_the_tie_on_memory_is_reported_and_goes_to_must_be() -> None:
    memory = kano.survey()[1]
    assert memory.counts == {"M": 4, "O": 1, "A": 4, "I": 2}
    assert memory.tie
    assert kano.NAMES[memory.category] == "must-be"


def test_contradictions_are_kept_apart() -> None:
    assert kano.category(5, 5) == "Q"
    assert kano.category(1, 1) == "Q"
    assert kano.category(1, 5) == "R"
