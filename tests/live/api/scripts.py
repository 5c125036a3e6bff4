"""Exec plugins as small shell scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubestow.live.api.accesses import Plugin

VERSION = "client.authentication.k8s.io/v1"


def write(path: Path, body: str) -> Path:
    """Write an executable script."""
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o700)
    return path


def credential(version: str = VERSION, **status: Any) -> str:
    """Return what a plugin prints."""
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


def printing(path: Path, output: str) -> Path:
    """Write a script that prints something and counts its runs in the file ``runs`` next to it."""
    (path.parent / "output").write_text(output, "utf-8")
    return write(path, f"echo run >>'{path.parent}/runs'\ncat '{path.parent}/output'")


def count_runs(folder: Path) -> int:
    """Return how many times the script next to the file ran."""
    runs = folder / "runs"
    return len(runs.read_text("utf-8").split()) if runs.exists() else 0


def plugin(path: Path, *arguments: str, **more: Any) -> Plugin:
    """Return the configuration of a script."""
    return Plugin(
        place="file: exec", command=str(path), version=VERSION, arguments=arguments, **more
    )


def describe(path: Path | str, version: str = VERSION, **more: Any) -> dict[str, Any]:
    """Return the user of a kubeconfig that runs a script."""
    mode = {"interactiveMode": "Never"}
    return {"exec": {"apiVersion": version, "command": str(path), **mode, **more}}
