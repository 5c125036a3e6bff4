"""How full a node may get, and what packing does to a cluster (Schubert 2023)."""
