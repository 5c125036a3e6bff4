"""Where snapshots and histories come from: manifests, tables, public instances."""
