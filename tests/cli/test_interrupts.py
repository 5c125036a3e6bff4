"""Ctrl-C and closed pipes, with the program as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubestow import testing
from kubestow.cli import interrupts

PROGRAM = (sys.executable, "-c", "from kubestow.cli.main import main; main()")
SCENARIO = str(Path(__file__).parents[2] / "examples" / "scenarios" / "maintenance-drain.yaml")
# A command that is busy in a way that Python's own handler cannot interrupt.
BUSY = """
import sys, threading, time
from kubestow.cli import interrupts, main
def stuck(arguments):
    print("busy", flush=True)
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
main._dispatch = stuck
main.main()
"""


@pytest.mark.parametrize("delay_s", [0.3, 0.6, 1.0, 2.0])
def test_an_interrupt_ends_a_comparison_at_once_with_one_line(
    tmp_path: Path, delay_s: float
) -> None:
    vary = "policies.placing.profile=kube-scheduler,most-allocated"
    arguments = ["compare", SCENARIO, "--vary", vary, "--seeds", "20", "--out", str(tmp_path / "o")]
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, shown = process.communicate(timeout=60)
        spent = time.monotonic() - start
    if process.returncode != -signal.SIGINT:  # before the program itself had started
        assert process.returncode == 130
        assert shown == interrupts.LINE
    assert spent < 30.0  # generous: the machine may be busy; see the next test for the bound


def test_a_command_that_does_not_hear_an_interrupt_is_ended() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=60)
    assert process.returncode == 130
    assert shown == interrupts.LINE


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    objects = [testing.node(f"n{i}") for i in range(3)]
    objects += [testing.pod(f"p{i}", cpu="1m") for i in range(300)]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    for _ in range(3):
        with subprocess.Popen(
            [*PROGRAM, "place", str(path), "-o", "jsonl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            shown = process.stderr.read()
        assert (process.returncode, shown) == (0, "")
