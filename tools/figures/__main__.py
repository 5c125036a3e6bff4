"""Brings the list of numbers up to date and prints what needs a source."""

from __future__ import annotations

import json
import sys

from tools import figures


def main() -> int:
    """Write the list; return 1 if a number has no source, or another one says otherwise."""
    known = json.loads(figures.LIST.read_text(encoding="utf-8"))
    listed: dict[str, list[str]] = {}
    found: list[str] = []
    for page in figures.checked_pages():
        name, text = figures.name_of(page), page.read_text(encoding="utf-8")
        listed[name] = figures.update(name, text, known.get(name, []))
        found.extend(figures.problems(name, text, listed[name]))
    shown = json.dumps(listed, indent=1, ensure_ascii=False)
    figures.LIST.write_text(shown + "\n", encoding="utf-8")
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
