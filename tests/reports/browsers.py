"""Opening pages in a real browser, without a network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic",
    "--virtual-time-budget=5000", "--dump-dom",
)  # fmt: skip

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium; 'make test' as root installs it"
)


def open_page(page: Path, profile: Path) -> str:
    """Return what a browser makes of a page, scripts run."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", page.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=90,
    )
    return done.stdout
