"""Where snapshots and histories come from: manifests, tables, Prometheus, public instances."""
