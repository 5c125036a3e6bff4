"""Vector bin packing: heuristics as scores on arrays, lower bounds and exact answers."""
