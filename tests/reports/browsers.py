"""Opening pages in a real browser, without a network."""

from __future__ import annotations

import dataclasses
import html
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
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


def open_page(page: Path, profile: Path, *, dark: bool = False) -> str:
    """Return what a browser makes of a page, scripts run."""
    assert CHROMIUM is not None
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    done = subprocess.run(
        [CHROMIUM, *OPTIONS, scheme, f"--user-data-dir={profile}", page.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=90,
    )
    return done.stdout


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What a reader sees of a page.

    Attributes:
        background: Red, green and blue of the page.
        ink: Red, green and blue of its text.
        labels: Colours of the labels of charts, as the browser names them.
        overflow: Pixels by which the page is wider than the screen.
        scrolling: Charts that are wider than the screen and scroll.
        hidden: Cells of tables of which a part lies outside the screen.
        charts: Number of drawn charts.
    """

    background: tuple[int, ...]
    ink: tuple[int, ...]
    labels: tuple[str, ...]
    overflow: int
    scrolling: int
    hidden: int
    charts: int


# The smallest window of a headless browser is wider than a phone, so the page is put in a frame.
_FRAME = """<!doctype html><body><iframe style="border:0;width:{width}px;height:900px"
srcdoc="{page}"></iframe><script>setTimeout(() => {{
  const frame = document.querySelector("iframe"), inner = frame.contentDocument;
  const view = frame.contentWindow, style = view.getComputedStyle(inner.body);
  const cells = [...inner.querySelectorAll("td")].filter((cell) => cell.offsetParent);
  document.body.dataset.seen = JSON.stringify({{
    background: style.backgroundColor.match(/[0-9]+/g).map(Number),
    ink: style.color.match(/[0-9]+/g).map(Number),
    labels: [...inner.querySelectorAll(".role-axis-label text")].map((t) => t.getAttribute("fill")),
    overflow: inner.documentElement.scrollWidth - inner.documentElement.clientWidth,
    scrolling: [...inner.querySelectorAll("figure")].filter(
      (one) => one.scrollWidth > one.clientWidth).length,
    hidden: cells.filter((cell) => cell.getBoundingClientRect().right > view.innerWidth).length,
    charts: inner.querySelectorAll("svg.marks").length,
  }});
}}, 3000);</script>"""


def see(page: str, folder: Path, *, width: int = 1280, dark: bool = False) -> Seen:
    """Return what a reader sees of a page on a screen of some width, in light or dark mode."""
    outer = folder / f"frame-{width}-{dark}.html"
    outer.write_text(_FRAME.format(width=width, page=html.escape(page)), encoding="utf-8")
    shown = open_page(outer, folder / "profile", dark=dark)
    found = re.search(r'data-seen="([^"]*)"', shown)
    assert found is not None
    return msgspec.json.decode(html.unescape(found[1]), type=Seen)
