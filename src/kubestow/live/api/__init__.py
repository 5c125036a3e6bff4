"""The way to a Kubernetes API server: client, lists, watches."""
