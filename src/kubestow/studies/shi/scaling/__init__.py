"""Scaling ahead of load: the 600 s experiment of Shi 2023."""
