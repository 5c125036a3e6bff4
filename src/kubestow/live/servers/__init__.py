"""HTTP servers of the live half: one way to listen, to limit, to watch and to end."""
