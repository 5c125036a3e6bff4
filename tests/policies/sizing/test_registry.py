"""The registry of recommenders: names, parameters, estimators."""

from __future__ import annotations

import pytest

from kubestow.model import errors
from kubestow.policies.sizing import registry
from tests.policies.sizing import scenes


def test_recommenders_are_found_by_name() -> None:
    # The names of the contract (INTERFACES), and one more.
    assert list(registry.RECOMMENDERS) == [
        "keep", "percentile", "krr-simple", "vpa", "level-sigma", "arima-margin", "short-margin",
        "q-learning", "limit-follow", "conformal", "auto",
    ]  # fmt: skip
    entry = registry.RECOMMENDERS.get("vpa")
    assert entry.make_estimator(entry.parameters(margin=0.5)).name == "vpa"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(errors.InputError, match="must be one of keep, percentile"):
        registry.RECOMMENDERS.get("vap")


def test_all_but_keep_work_on_many_containers_at_once() -> None:
    usage = scenes.usage([[0.5] * 300, [0.1] * 300], [[2e8] * 300, [4e8] * 300])
    for name, entry in ((one.name, one) for one in registry.RECOMMENDERS.entries()):
        if name == "keep":
            with pytest.raises(errors.InputError, match="leaves requests unchanged"):
                entry.make_estimator(entry.parameters())
            continue
        estimator = entry.make_estimator(entry.parameters())
        assert estimator.name == name
        result = estimator.estimate(usage)
        assert (result.memory_bytes >= [2e8, 4e8]).all(), name
        assert (result.cpu_cores >= [0.5, 0.1]).all(), name


def test_every_entry_documents_every_parameter() -> None:
    for entry in registry.RECOMMENDERS.entries():
        for field in entry.parameters.__dataclass_fields__:
            assert f"{field}: " in (entry.parameters.__doc__ or ""), field
