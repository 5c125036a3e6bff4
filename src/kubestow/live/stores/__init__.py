"""The store: histories, learned states, recommendations and decisions, in a database."""
