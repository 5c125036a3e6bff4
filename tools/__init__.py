"""Tools for developers and releases; not part of the package."""
