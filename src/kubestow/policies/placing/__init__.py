"""Placement of pods: scheduler filters and scores, profiles, terms, and vector bin packing."""
