"""The packing simulations of Schubert 2023: appendix A.4 and Table 5.1."""
