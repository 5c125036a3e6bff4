"""Direct regression: one regression per step ahead on features of the history."""

from kubestow.policies.forecasting.regression.models import Regression

__all__ = ["Regression"]
