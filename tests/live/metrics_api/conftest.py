"""A running metrics API for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.metrics_api import make


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[make.Scene]:
    with make.scene(tmp_path) as running:
        yield running
