"""Real Kubernetes programs for tests, built from published Go modules."""
