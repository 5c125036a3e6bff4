"""Time series and public traces from files, resampled to equal steps."""

from kubestow.sources.traces.alibaba import ALIBABA_COLUMNS, clean_alibaba_usage
from kubestow.sources.traces.public import (
    read_arrivals,
    read_counts,
    read_cube,
    read_days,
    read_machines,
    read_table,
    read_untimed,
)
from kubestow.sources.traces.series import (
    column_numbers,
    column_seconds,
    first_column,
    read_grid,
    read_series,
)

__all__ = [
    "ALIBABA_COLUMNS",
    "clean_alibaba_usage",
    "column_numbers",
    "column_seconds",
    "first_column",
    "read_arrivals",
    "read_counts",
    "read_cube",
    "read_days",
    "read_grid",
    "read_machines",
    "read_series",
    "read_table",
    "read_untimed",
]
