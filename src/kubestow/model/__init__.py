"""The domain model: quantities, resources, nodes, pods, workloads, cluster state, decisions."""
