"""Place, size, scale and move Kubernetes workloads, and prove it before you ship it.

The functions of the library are loaded on first use, so that ``import kubestow`` costs nothing::

    import kubestow

    kubestow.recommend("usage/").to_polars()
    kubestow.place("cluster.yaml", profile="most-allocated")
    kubestow.simulate("shop-day.yaml", seed=7).measures["node_hours"]

They do what the commands of the same name do, with the same policies, and return results that
convert to frames (``to_polars``, ``to_pandas``), to the plain values of ``-o json`` (``to_dict``),
and show themselves in a notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubestow.library import (
        BacktestTable,
        ClusterData,
        ComparisonTable,
        ForecastTable,
        PackingReport,
        PlacementTable,
        RecommendationTable,
        SimulationRun,
        UsageData,
        backtest,
        compare,
        forecast,
        pack,
        place,
        read_cluster,
        read_usage,
        recommend,
        simulate,
    )
    from kubestow.model.errors import InputError

__version__: str

__all__ = [
    "BacktestTable",
    "ClusterData",
    "ComparisonTable",
    "ForecastTable",
    "InputError",
    "PackingReport",
    "PlacementTable",
    "RecommendationTable",
    "SimulationRun",
    "UsageData",
    "backtest",
    "compare",
    "forecast",
    "pack",
    "place",
    "read_cluster",
    "read_usage",
    "recommend",
    "simulate",
]

_ELSEWHERE = {"InputError": "kubestow.model.errors"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - slow; the program rarely asks

        return version("kubestow")
    if name not in __all__:
        raise AttributeError(f"module 'kubestow' has no attribute {name!r}")
    import importlib  # noqa: PLC0415 - likewise

    module = importlib.import_module(_ELSEWHERE.get(name, "kubestow.library"))
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
