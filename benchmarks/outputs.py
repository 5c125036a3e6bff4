"""Output of benchmarks that run alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml


def write(figures: dict[str, float]) -> int:
    """Print figures, and write them as JSON to the file named on the command line, if any."""
    sys.stdout.write(yaml.safe_dump(figures, sort_keys=False))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0
