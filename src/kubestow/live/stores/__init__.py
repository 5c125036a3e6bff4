"""The store: histories, learned states, recommendations and decisions in a database."""

from kubestow.live.stores.containers import CONTAINER_COLUMNS, container_numbers
from kubestow.live.stores.decisions import (
    newest_decisions,
    newest_decisions_below,
    put_decisions,
    subjects,
)
from kubestow.live.stores.deferred import DeferredStore, try_opening
from kubestow.live.stores.engines import Store, open_store
from kubestow.live.stores.faults import StoreUnavailableError
from kubestow.live.stores.journal import Journal
from kubestow.live.stores.recommendations import (
    StoredRecommendation,
    is_newest,
    put_recommendations,
)
from kubestow.live.stores.recommendations import (
    decode as decode_recommendation,
)
from kubestow.live.stores.schema import containers_table, recommendations_table

__all__ = [
    "CONTAINER_COLUMNS",
    "DeferredStore",
    "Journal",
    "Store",
    "StoreUnavailableError",
    "StoredRecommendation",
    "container_numbers",
    "containers_table",
    "decode_recommendation",
    "is_newest",
    "newest_decisions",
    "newest_decisions_below",
    "open_store",
    "put_decisions",
    "put_recommendations",
    "recommendations_table",
    "subjects",
    "try_opening",
]
