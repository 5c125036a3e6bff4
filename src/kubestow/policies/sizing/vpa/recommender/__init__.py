"""VPA's recommender: decaying histograms, estimators, checkpoints; one workload or many at once."""

from kubestow.policies.sizing.vpa.recommender.banks import EstimateTable, VpaBank
from kubestow.policies.sizing.vpa.recommender.batch import VpaEstimator
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters
from kubestow.policies.sizing.vpa.recommender.recommender import VPA, Vpa

__all__ = ["VPA", "EstimateTable", "Vpa", "VpaBank", "VpaEstimator", "VpaParameters"]
