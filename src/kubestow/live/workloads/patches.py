"""Changing workloads: one patch each, on the version that was looked at, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubestow.live import api
from kubestow.live.api import ApiError
from kubestow.live.workloads import inventory
from kubestow.model import errors
from kubestow.model.keys import WorkloadKey


@dataclass(frozen=True, slots=True)
class PatchOutcome:
    """What became of a patch; the problem is empty if it was applied."""

    key: WorkloadKey
    problem: str = ""


async def apply_patches(
    client: api.ApiClient,
    key: WorkloadKey,
    patch: Mapping[str, Any] | None,
    *,
    dry_run: bool = False,
) -> PatchOutcome:
    """Apply a strategic merge patch to a workload.

    Args:
        client: Asks the API server.
        key: The workload.
        patch: What to change; ``None`` if its kind cannot be changed.
        dry_run: Let the API server check it, and change nothing.
    """
    try:
        path = inventory.workload_path(key)
        if patch is None:
            raise errors.InputError(str(key), f"{key.kind}: change it at its source")
        # On the version of this moment: who changed it in between must not be overruled.
        found = await client.get(path.removesuffix("/resize"))
        metadata = {
            **patch["metadata"],
            "resourceVersion": found["metadata"]["resourceVersion"],
        }
        await client.request(
            "PATCH",
            path,
            {**patch, "metadata": metadata},
            params={"fieldManager": "kubestow", **({"dryRun": "All"} if dry_run else {})},
            content_type=api.STRATEGIC_PATCH,
        )
    except (ApiError, errors.InputError) as err:
        return PatchOutcome(key, str(err))
    return PatchOutcome(key)
