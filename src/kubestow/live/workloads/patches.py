"""Patches of workloads, each on the version that was read, and their outcome."""

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
    """The outcome of a patch; the problem is empty if it was applied."""

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
        client: Client of the API server.
        key: The workload.
        patch: The patch; ``None`` if the kind cannot be changed.
        dry_run: Let the API server validate the patch without applying it.
    """
    try:
        path = inventory.workload_path(key)
        if patch is None:
            raise errors.InputError(str(key), f"{key.kind}: change it at its source")
        # With the version just read, so that a concurrent change is not overwritten.
        current = await client.get(path.removesuffix("/resize"))
        metadata = {
            **patch["metadata"],
            "resourceVersion": current["metadata"]["resourceVersion"],
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
