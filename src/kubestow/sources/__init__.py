"""Sources of snapshots and histories: manifests, tables, Prometheus, public instances."""
