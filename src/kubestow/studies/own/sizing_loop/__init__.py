"""Recommenders inside the control loop: nodes, OOM kills, pending time."""
