"""Where pods go: the scheduler's filters and scores, profiles, and vector bin packing."""
