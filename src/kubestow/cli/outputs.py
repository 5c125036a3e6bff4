"""What all commands share about output: the -o option, JSON, tables."""

from __future__ import annotations

import enum
import sys
from typing import Annotated, Any

import msgspec
import typer
from rich import progress
from rich.console import Console


class Output(enum.StrEnum):
    """How a command answers."""

    TABLE = "table"
    JSON = "json"


# Settings every command is made with: -h works, too.
CONTEXT = {"help_option_names": ["-h", "--help"]}

OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="How to answer.", case_sensitive=False)
]


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def console() -> Console:
    """Return the console for tables and text on standard output."""
    return Console(highlight=False)


def progress_console() -> Console:
    """Return the console for progress bars: standard error, so that output can be piped."""
    return Console(stderr=True, highlight=False)


def progress_bar() -> progress.Progress:
    """Return a progress bar that goes when it is done, and is not there where nobody looks."""
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
    )
    console = progress_console()
    return progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
