"""Replica controllers: how many replicas a workload should have, as pure functions."""
