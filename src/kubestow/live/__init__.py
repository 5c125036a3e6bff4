"""Host 2: the same policies, fed by a real cluster."""
