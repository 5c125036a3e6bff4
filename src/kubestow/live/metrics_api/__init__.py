"""The metrics API: custom and external metrics, forecasts among them, for a real HPA."""
