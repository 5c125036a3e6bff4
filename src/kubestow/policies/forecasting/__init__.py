"""Forecasts of demand and usage: models, intervals, back-tests, and the gate before decisions."""
