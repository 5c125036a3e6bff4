"""What all commands share: the application, the -o option, JSON, tables, progress."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich import progress
    from rich.console import Console


_UNLIMITED = 10_000  # columns of a pipe


class Output(enum.StrEnum):
    """Output format of a command."""

    TABLE = "table"
    JSON = "json"


def make_app() -> typer.Typer:
    """Return an application for one command, with plain help that is quick to print."""
    return typer.Typer(
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )


OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="Output format.", case_sensitive=False)
]


def print_json_line(value: Any) -> None:
    """Write a value as one line of JSON to standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_columns(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Write rows in aligned columns, as kubectl does; for more rows than a table is made for."""
    listed = [titles, *rows]
    widths = [max(len(row[column]) for row in listed) for column in range(len(titles))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in listed]
    sys.stdout.write("\n".join(lines) + "\n")


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def console() -> Console:
    """Return the console for tables and text on standard output.

    In a pipe or file, lines are as long as they need to be, so that nothing is cut off; COLUMNS
    still sets a width.
    """
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=_UNLIMITED if piped else None)


def progress_console() -> Console:
    """Return the console for progress bars: standard error, so that output can be piped."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def progress_bar(*further: progress.ProgressColumn) -> progress.Progress:
    """Return a progress bar that vanishes when done and shows only on a terminal.

    Args:
        further: Columns after the description and the bar; the percentage if left out.
    """
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        *(further or (progress.TaskProgressColumn(),)),
    )
    console = progress_console()
    return progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    )
