"""What differs between releases of the Vertical Pod Autoscaler, read from their sources.

Compared were the modules 1.3.1, 1.7.3 and 1.8.1; each flag names the first release that has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.model import releases

OLDEST, NEWEST = (1, 3), (1, 8)
DEFAULT = "1.7"


@dataclass(frozen=True, slots=True)
class Features:
    """The behaviour of one release.

    Attributes:
        version: The release, e.g. ``1.7``.
        constant_weights: Every CPU sample weighs 0.1 (1.4); before, the CPU request in cores that
            the sample carries but at least 0.1. Upstream's own feeder never filled that request
            in (0.9 to 1.3), so samples without it give what those releases do, samples with it
            what their model describes.
        oom_age_by_sample: An OOM kill is too old if it came more than one memory interval before
            the last memory sample (1.8); before, if it came before the current interval.
    """

    version: str
    constant_weights: bool
    oom_age_by_sample: bool


def features(version: str = DEFAULT) -> Features:
    """Return the behaviour of a release such as ``1.7`` or ``v1.7.3``.

    Raises:
        InputError: If the text is no version, or one whose rules are not known here.
    """
    release = releases.parse(version, OLDEST, NEWEST)
    return Features(
        version=releases.text(release),
        constant_weights=release >= (1, 4),
        oom_age_by_sample=release >= (1, 8),
    )
