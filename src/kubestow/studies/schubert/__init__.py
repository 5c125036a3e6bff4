"""Schubert 2023: vector bin packing, forecasts of requests, limits of utilisation."""
