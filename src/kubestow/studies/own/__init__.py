"""Our own studies: public traces, public instances, closed loops."""
