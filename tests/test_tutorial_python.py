"""The Python tutorial runs from top to bottom and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "tutorial" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_every_block_runs_and_prints_what_its_comment_says() -> None:
    names: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) > 8
    for block in blocks:
        # A comment at the beginning of a line is what the block prints.
        expected = [line[2:] for line in block.splitlines() if line.startswith("# ")]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102  # our own page
        assert printed.getvalue().splitlines() == expected, block
