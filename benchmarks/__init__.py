"""Benchmarks of speed and quality, with floors as data."""
