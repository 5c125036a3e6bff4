"""``kubestow metrics-api`` as users start it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubestow.cli import main

RULE = "metrics: [{name: a, query: b, namespace: c}]"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--listen", "6443"], "--listen: '6443': expected HOST:PORT"),
        (["--certificates", "mounted"], "nothing after mounted: expected DIR"),
        (["--certificates", "none", "a"], "a after none: expected nothing"),
        (["--max-age", "soon"], "--max-age: 'soon': expected a duration"),
        (["--rules", "/nowhere.yaml"], "/nowhere.yaml: no such file"),
        (["--rules", "RULES"], "--prometheus: is missing; the rules query Prometheus"),
        (["--rules", "RULES", "--prometheus", "ftp://x"], "expected http://HOST"),
        (["--kubeconfig", "/nowhere"], "expected a kubeconfig of a cluster"),
        (["--max-series", "0"], "greater than or equal to 1"),
    ],
)
def test_bad_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    rules = tmp_path / "metrics.yaml"
    rules.write_text(RULE, encoding="utf-8")
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}],"
        " users: [{name: a, user: {token: x}}]}",
        encoding="utf-8",
    )
    given = [str(rules) if each == "RULES" else each for each in arguments]
    if "--kubeconfig" not in given:
        given += ["--kubeconfig", str(kubeconfig)]
    assert main.run(["metrics-api", *given]) == 2
    assert problem in capsys.readouterr().err


def test_the_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    assert "metrics-api" in capsys.readouterr().out
