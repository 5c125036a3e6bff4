"""The objects that run kubestow in a cluster, as plain values."""
