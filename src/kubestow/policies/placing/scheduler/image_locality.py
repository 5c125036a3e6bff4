"""The score for images that a node already holds (plugin ImageLocality)."""

from __future__ import annotations

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.scheduler import normalization
from kubestow.policies.placing.scheduler.cycle import Cycle

_MEBIBYTE = 1024 * 1024
_LEAST_BYTES = 23 * _MEBIBYTE  # smaller totals score 0
_MOST_BYTES = 1000 * _MEBIBYTE  # per container


def normalized_name(image: str) -> str:
    """Return an image name with its tag.

    >>> normalized_name("registry:5000/nginx"), normalized_name("nginx:1.27")
    ('registry:5000/nginx:latest', 'nginx:1.27')
    """
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def image_locality_score(cycle: Cycle) -> arrays.Ints:
    """Score nodes by the bytes of the pod's images they hold, weighted by how common those are."""
    spec = cycle.pod.spec
    images = [container.image for container in spec.containers]
    if cycle.features.init_images:
        images += [container.image for container in spec.init_containers]
    if cycle.features.image_volumes:
        images += spec.image_volumes
    total = np.zeros(len(cycle.state), dtype=np.int64)
    for image in images:
        total += cycle.state.image_bytes(normalized_name(image))
    most = _MOST_BYTES * len(images)
    held = np.clip(total, _LEAST_BYTES, most)
    return normalization.MAX_SCORE * (held - _LEAST_BYTES) // (most - _LEAST_BYTES)
