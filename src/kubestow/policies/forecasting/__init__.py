"""Forecasts of demand and use: models, intervals, back-tests, and the gate before decisions."""
