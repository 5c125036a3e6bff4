"""What is to be simulated, as a file says it: structures, defaults and rules."""
