"""Shi 2023: ARIMA-GRU forecasts, scaling, multi-resource balance, limits."""
