"""Sizing policies: which requests and limits containers should have."""
