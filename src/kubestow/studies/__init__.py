"""Experiments of the theses, repeated, and the same questions on real data."""
