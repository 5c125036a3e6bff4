"""What things are: quantities, resources, nodes, pods, workloads, cluster state, decisions."""
