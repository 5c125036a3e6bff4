"""What is read of the cluster around a pod."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.caches import namespace_bounds
from kubestow.model import errors, limit_ranges

NAMESPACE = {"metadata": {"name": "shop", "labels": {"kubestow.io/managed": "true"}}}
RANGE = {
    "metadata": {"name": "r", "namespace": "shop"},
    "spec": {
        "limits": [
            {
                "type": "Container",
                "max": {"cpu": "2"},
                "min": {"memory": "10Mi"},
                "default": {"cpu": "500m"},
                "maxLimitRequestRatio": {"cpu": "4"},
            },
            {"type": "Pod", "max": {"memory": "4Gi"}},
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
        ]
    },
}


def quota(hard: dict[str, str], used: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


def node(cpu: str, memory: str, **spec: Any) -> dict[str, Any]:
    given = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {"metadata": {"name": "n"}, "spec": spec, "status": {"allocatable": given}}


def test_limit_ranges_are_read_by_namespace() -> None:
    result = namespace_bounds.read_bounds([NAMESPACE], [RANGE], [], [])
    assert result.namespaces["shop"].labels == {"kubestow.io/managed": "true"}
    bounds = result.allowed("shop")
    assert bounds.ratios == {"cpu": 4.0}
    assert bounds.ranges.container is not None
    assert bounds.ranges.pod is not None
    assert str((bounds.ranges.container.default or {})["cpu"]) == "500m"
    assert str((bounds.ranges.pod.maximum or {})["memory"]) == "4Gi"
    assert result.allowed("elsewhere") == limit_ranges.PodBounds()


def test_of_several_quotas_the_tightest_counts() -> None:
    some = quota({"requests.cpu": "4", "limits.memory": "8Gi"}, {"requests.cpu": "1500m"})
    other = quota({"cpu": "2"}, {"cpu": "1"})
    result = namespace_bounds.read_bounds([], [], [some, other], [])
    # 4 - 1.5 are left of the first, 2 - 1 of the second, where a bare name means requests.
    assert result.allowed("shop").quota == {"requests.cpu": 1000, "limits.memory": 8 * 2**30}


def test_quotas_for_some_pods_only_do_not_count() -> None:
    scoped = quota({"requests.cpu": "0"}, {}, scopes=["BestEffort"])
    assert namespace_bounds.read_bounds([], [], [scoped], []).allowed("shop").quota == {}


def test_the_largest_node_that_takes_pods_counts() -> None:
    nodes = [node("4", "8Gi"), node("2", "16Gi"), node("64", "1Ti", unschedulable=True)]
    result = namespace_bounds.read_bounds([], [], [], nodes)
    assert result.node == {"cpu": 4000, "memory": 16 * 2**30}
    assert namespace_bounds.read_bounds([], [], [], []).node is None


class Pages:
    """Lists in pages of one object each; the namespaces can be made to fail."""

    def __init__(self) -> None:
        self.fails = False
        self.asked: list[str] = []

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        self.asked.append(path)
        if self.fails:
            raise ApiError(503, "Unavailable", "later")
        if not path.endswith("nodes"):
            return {"items": [], "metadata": {}}
        page = int((params or {}).get("continue", "0"))
        following = {"continue": str(page + 1)} if page < 2 else {}
        return {"items": [node(str(page + 1), "1Gi")], "metadata": following}


def test_long_lists_are_read_page_by_page_and_failures_keep_what_is_known() -> None:
    client, results = Pages(), list[str]()
    watcher = namespace_bounds.BoundsWatcher(client, results.append)

    async def run() -> None:
        task = asyncio.create_task(watcher.keep(0.0))
        while "ok" not in results:
            await asyncio.sleep(0.001)
        client.fails = True
        while "failed" not in results:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(run())
    assert watcher.current.node == {"cpu": 3000, "memory": 2**30}


def test_what_is_not_understood_is_an_error() -> None:
    with pytest.raises(errors.InputError, match="Node"):
        namespace_bounds.read_bounds([], [], [], [node("much", "1Gi")])
