"""Experiments of the theses, and the same questions asked on real data."""
