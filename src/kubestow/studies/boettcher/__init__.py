"""Böttcher 2023: requests that follow repeated runs."""
