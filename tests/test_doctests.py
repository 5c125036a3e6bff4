"""Every example in a docstring is run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"


def modules_with_examples() -> list[str]:
    result = []
    for path in sorted(SOURCE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            result.append(".".join(part for part in parts if part != "__init__"))
    return result


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0
