"""Replica controllers: pure functions that set how many replicas a workload has."""
