"""Questions of our own: public traces, public instances, closed loops."""
