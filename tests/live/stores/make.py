"""Builders of what the store holds."""

from __future__ import annotations

import sqlalchemy as sa

from kubestow.live.stores.engines import Store
from kubestow.live.stores.runs import RunKey, StoredRun
from kubestow.model.keys import ContainerKey

BUILD = ContainerKey("ci", "Tekton", "shop.build", "main")


def run(
    pod_uid: str = "pod-1", ended_s: float | None = 20.0, workload: str = "shop.build"
) -> StoredRun:
    key = RunKey(ContainerKey("ci", "Tekton", workload, "main"), pod_uid)
    return StoredRun(key, began_s=10.0, ended_s=ended_s, cpu_mean_m=250.5, memory_max_bytes=2**40)


def count(store: Store, table: sa.Table) -> int:
    with store.reading() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
