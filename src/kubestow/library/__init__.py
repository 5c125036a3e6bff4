"""The library: the commands as Python functions.

Inputs are paths, manifests as dicts, Polars or pandas frames, or arrays; results convert to frames
and to the plain values of ``-o json``. Nothing here prints. Users import these names from
``kubestow``.
"""

from kubestow.library.forecasting import BacktestTable, ForecastTable, backtest, forecast
from kubestow.library.placing import PackingReport, PlacementTable, pack, place
from kubestow.library.reading import ClusterData, UsageData, read_cluster, read_usage
from kubestow.library.simulating import ComparisonTable, SimulationRun, compare, simulate
from kubestow.library.sizing import RecommendationTable, recommend

__all__ = [
    "BacktestTable",
    "ClusterData",
    "ComparisonTable",
    "ForecastTable",
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
