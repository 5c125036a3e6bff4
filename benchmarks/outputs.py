"""What the benchmarks that run alone print, and write to a file if one is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml


def write(figures: dict[str, float]) -> int:
    """Print figures, and write them as JSON to the file that the command line names, if any."""
    sys.stdout.write(yaml.safe_dump(figures, sort_keys=False))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0
