"""VPA's recommender: decaying histograms of many containers, estimates, status."""

from kubestow.policies.sizing.vpa.recommender.banks import EstimateTable, VpaBank
from kubestow.policies.sizing.vpa.recommender.estimator import VPA, VpaEstimator
from kubestow.policies.sizing.vpa.recommender.parameters import VpaParameters
from kubestow.policies.sizing.vpa.recommender.status import present

__all__ = ["VPA", "EstimateTable", "VpaBank", "VpaEstimator", "VpaParameters", "present"]
