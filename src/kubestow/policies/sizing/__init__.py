"""Sizing policies: what requests containers should have."""
