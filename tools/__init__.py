"""What developers and releases run; no part of the package."""
