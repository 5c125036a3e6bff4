"""The line that is shown while functions are compiled."""

from __future__ import annotations

import os

import numba
import pytest

from kubestow.cli import compiling_notice
from kubestow.policies import compile_events, compiling


def test_the_line_comes_with_the_fourth_function_and_goes_when_it_is_compiled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    notice = compiling_notice.CompilingNotice()
    for _ in range(3):
        notice.announce(True)
        notice.announce(False)
    assert capsys.readouterr().err == ""
    notice.announce(True)
    assert "compiling for this machine, once: 4 functions" in capsys.readouterr().err
    notice.announce(False)
    assert capsys.readouterr().err == "\r\033[K"


def test_a_compilation_is_announced_and_a_second_call_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[bool] = []
    monkeypatch.setattr(compile_events, "listener", heard.append)
    assert callable(compiling.compiled)  # its module listens to numba
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        pytest.skip("functions are interpreted in this run")
    double = numba.njit(lambda value: 2.0 * value)
    assert double(3.0) == 6.0
    assert heard[0]
    assert not heard[-1]
    before = list(heard)
    assert double(4.0) == 8.0
    assert heard == before


def test_nothing_is_shown_without_a_terminal() -> None:
    before = compile_events.listener
    compiling_notice.show()  # pytest captures standard error
    assert compile_events.listener is before
