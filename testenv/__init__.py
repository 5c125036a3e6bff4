"""Real Kubernetes code for tests, built from published Go modules."""
