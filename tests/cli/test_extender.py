"""``kubestow extender`` without a cluster: its configuration, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kubestow.cli import main


@pytest.mark.parametrize(
    ("term", "more", "scores"),
    [
        ("clbp", (), False),
        ("load-aware", (), False),
        ("clbp", ("--decision", "weighted"), True),
        ("load-aware", ("--decision", "weighted"), True),
        ("vector-dot", ("--decision", "weighted"), False),
        ("clbp", ("--decision", "alone"), False),
    ],
)
def test_the_configuration_asks_only_for_what_the_term_does(
    term: str, more: tuple[str, ...], scores: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["extender", "--term", term, *more, "--print-config", "http://127.0.0.1:8888"]
    assert main.run(asked) == 0
    (extender,) = yaml.safe_load(capsys.readouterr().out)["extenders"]
    assert extender["urlPrefix"] == "http://127.0.0.1:8888"
    assert (extender["nodeCacheCapable"], extender["ignorable"]) == (True, True)
    assert extender["filterVerb"] == "filter"
    assert ("prioritizeVerb" in extender) is scores


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--term", "best"), "'best': must be one of clbp, load-aware"),
        (("--decision", "both"), "--decision: 'both': must be one of shortlist, alone, weighted"),
        (("--set", "negligible"), "--set: 'negligible': expected PATH=VALUE"),
        (("--term", "clbp", "--set", "colour=1"), "colour: unknown key"),
        (("--listen", "nowhere"), "--listen: 'nowhere': expected HOST:PORT"),
        (("--listen", "0.0.0.0:8888"), "without TLS only loopback is allowed"),
        (("--loads-every", "soon"), "--loads-every: 'soon': expected a duration"),
        (("--kubeconfig", "none"), "none: "),
    ],
    ids=[
        "term",
        "decision",
        "no value",
        "parameter",
        "address",
        "everywhere",
        "pace",
        "kubeconfig",
    ],
)
def test_bad_input_is_one_line_and_leaves_with_2(
    arguments: tuple[str, ...],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
            }
        )
    )
    monkeypatch.setenv("KUBECONFIG", str(config))
    assert main.run(["extender", *arguments]) == 2
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.count("\n") == 1
