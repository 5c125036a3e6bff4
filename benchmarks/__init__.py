"""Speed and quality figures with floors kept as data."""
