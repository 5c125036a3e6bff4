"""Sizing in a cluster: what there is, what it uses, and changing it."""
