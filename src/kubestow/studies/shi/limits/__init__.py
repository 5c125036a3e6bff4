"""Limits that follow usage: the 600 s experiment of Shi 2023."""
