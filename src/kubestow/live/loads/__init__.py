"""What nodes really use, measured and assumed."""
