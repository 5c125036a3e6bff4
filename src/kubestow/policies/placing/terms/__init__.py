"""Terms: the filters and scores that an extender adds to kube-scheduler, as pure functions."""

from kubestow.policies.placing.terms.assumed_loads import AssumedLoads
from kubestow.policies.placing.terms.clbp_parameters import DISK_IO, NETWORK
from kubestow.policies.placing.terms.high_load import (
    HIGH_LOAD_TAINT,
    HighLoadMemory,
    HighLoadParameters,
    load_shares,
    update_high_load,
)
from kubestow.policies.placing.terms.protocol import POINT, Loads, Term, TermScores, sent_scores
from kubestow.policies.placing.terms.registry import TERMS, TermEntry, make_term
from kubestow.policies.placing.terms.shortlist import has_preferences, pick_shortlist
from kubestow.policies.placing.terms.usage_estimates import estimate_usage

__all__ = [
    "DISK_IO",
    "HIGH_LOAD_TAINT",
    "NETWORK",
    "POINT",
    "TERMS",
    "AssumedLoads",
    "HighLoadMemory",
    "HighLoadParameters",
    "Loads",
    "Term",
    "TermEntry",
    "TermScores",
    "estimate_usage",
    "has_preferences",
    "load_shares",
    "make_term",
    "pick_shortlist",
    "sent_scores",
    "update_high_load",
]
