"""Rules from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubestow.live.metrics_api.values import rules
from kubestow.live.metrics_api.values.rules import ForecastRule, PollRule
from kubestow.model.errors import InputError


def read(folder: Path, text: str) -> rules.MetricRules:
    path = folder / "metrics.yaml"
    path.write_text(text, encoding="utf-8")
    return rules.read_rules(str(path))


def test_the_example_of_the_module_is_read(tmp_path: Path) -> None:
    assert rules.__doc__ is not None
    result = read(tmp_path, rules.__doc__.split("```yaml\n")[1].split("```")[0])
    pods, queue = result.polls
    assert (pods.resource, pods.object_label, pods.interval_s) == ("pods", "pod", 15.0)
    assert queue == PollRule("queue_depth", "sum by (queue) (queue_depth)", namespace="shop")
    assert result.forecasts == (ForecastRule("queue_depth", "", 90.0, 15.0, 0.9),)
    assert result.forecast_of(queue) is result.forecasts[0]
    assert result.forecast_of(pods) is None


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"rules": []}, "'rules' is not known; expected metrics, forecasts"),
        ({"metrics": [{"name": "a"}]}, "metrics[0].query: None: expected text"),
        (
            {"metrics": [{"name": "kubestow_forecast_a", "query": "b", "namespace": "x"}]},
            "reserved for forecasts",
        ),
        ({"metrics": [{"name": "a", "query": "b"}]}, "expected namespace or namespaceLabel"),
        (
            {"metrics": [{"name": "a", "query": "b", "resource": "pods"}]},
            "expected both resource and object",
        ),
        (
            {"metrics": [{"name": "a", "query": "b", "namespace": "x", "interval": "0s"}]},
            "metrics[0].interval: '0s': expected at least 1s",
        ),
        (
            {"metrics": [{"name": "a", "query": "b", "namespace": "x"}] * 2},
            "expected each metric of a resource once",
        ),
        ({"forecasts": [{"metric": "a", "quantile": 1.5}]}, "expected a number from 0.5 to 0.99"),
        ({"forecasts": [{"metric": "a", "horizon": "1h"}]}, "expected at most 95 steps"),
        ({"forecasts": [{"metrics": "a"}]}, "'metrics' is not known"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    tmp_path: Path, document: object, problem: str
) -> None:
    with pytest.raises(InputError) as refusal:
        read(tmp_path, yaml.safe_dump(document))
    assert problem in str(refusal.value)
