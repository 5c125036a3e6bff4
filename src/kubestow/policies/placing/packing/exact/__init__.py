"""Lower bounds, search and exact solutions of packing instances."""

from kubestow.policies.placing.packing.exact.bounds import Bound, add_relief, lower_bound
from kubestow.policies.placing.packing.exact.improvement import improve
from kubestow.policies.placing.packing.exact.search import PORTFOLIO
from kubestow.policies.placing.packing.exact.solver import compile_solver, solve

__all__ = [
    "PORTFOLIO",
    "Bound",
    "add_relief",
    "compile_solver",
    "improve",
    "lower_bound",
    "solve",
]
