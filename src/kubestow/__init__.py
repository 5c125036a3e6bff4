"""Place, size, scale and move Kubernetes workloads, and prove it before you ship it."""
