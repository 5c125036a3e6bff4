"""Movers: plans of which running pods to evict, as pure functions of the cluster."""
