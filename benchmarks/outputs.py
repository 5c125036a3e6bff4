"""Output of benchmarks that run alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def write(figures: Mapping[str, Any], position: int = 1) -> int:
    """Print figures, and write them as JSON to the file named on the command line, if any.

    Args:
        figures: What was measured.
        position: Which argument of the command line names the file.
    """
    sys.stdout.write(yaml.safe_dump(dict(figures), sort_keys=False))
    if len(sys.argv) > position:
        Path(sys.argv[position]).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0
