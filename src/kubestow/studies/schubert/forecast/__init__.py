"""Forecasts of requests as in Schubert 2023, on public usage series."""
