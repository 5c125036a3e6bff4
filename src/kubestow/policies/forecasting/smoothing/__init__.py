"""Exponential smoothing: simple, Holt, Holt-Winters, and the theta method."""

from kubestow.policies.forecasting.smoothing.models import Holt, HoltWinters, Ses
from kubestow.policies.forecasting.smoothing.theta import Theta

__all__ = ["Holt", "HoltWinters", "Ses", "Theta"]
