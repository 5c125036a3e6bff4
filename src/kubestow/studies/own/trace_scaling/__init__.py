"""Scaling on real request traces: overloaded requests against cost."""
