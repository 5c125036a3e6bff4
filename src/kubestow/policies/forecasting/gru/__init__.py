"""The gated recurrent unit of Shi 2023, alone and on the residuals of an ARIMA model.

Inference runs in NumPy and compiled loops; training needs the extra ``neural``.
"""

from kubestow.policies.forecasting.gru.hybrid import ArimaGru, HybridOptions
from kubestow.policies.forecasting.gru.models import Gru
from kubestow.policies.forecasting.gru.options import GruOptions

__all__ = ["ArimaGru", "Gru", "GruOptions", "HybridOptions"]
