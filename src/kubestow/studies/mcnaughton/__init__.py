"""McNaughton 2016: scaling one pod start-up ahead."""
