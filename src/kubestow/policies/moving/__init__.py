"""Which running pods to move: plans as pure functions of the cluster."""
