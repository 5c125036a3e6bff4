"""Where pods go: the scheduler's filters and scores, profiles, terms, and vector bin packing."""
