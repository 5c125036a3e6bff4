"""Releases of Kubernetes components, such as ``1.35`` or ``v1.35.4``."""

from __future__ import annotations

import re

from kubestow.model import errors

Release = tuple[int, int]


def parse(version: str, oldest: Release, newest: Release) -> Release:
    """Return major and minor number of a release.

    >>> parse("v1.35.4", (1, 29), (1, 37))
    (1, 35)

    Raises:
        InputError: If the text is not a version, or its rules are not known.
    """
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.\d+)?", version)
    release = (int(match[1]), int(match[2])) if match else None
    if release is None or not oldest <= release <= newest:
        known = f"expected {text(oldest)} to {text(newest)}"
        raise errors.InputError("version", f"{version!r}: {known}")
    return release


def text(release: Release) -> str:
    """Format a release.

    >>> text((1, 35))
    '1.35'
    """
    return f"{release[0]}.{release[1]}"
