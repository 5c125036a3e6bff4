"""The way to a Kubernetes API server: kubeconfig, credentials, client, lists, watches."""
