"""Placing by load: the 15-pod experiment of Shi 2023."""
