"""Certificates of the live servers: made, shared, renewed, and made known to the API server."""
