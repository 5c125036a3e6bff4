"""Direct regression: one regression per step ahead on features of the past."""

from kubestow.policies.forecasting.regression.models import Regression

__all__ = ["Regression"]
