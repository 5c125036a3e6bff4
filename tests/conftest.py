"""Shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Compiled code and a busy machine make single examples slow now and then.
settings.register_profile("default", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("default")
