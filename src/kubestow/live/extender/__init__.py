"""The scheduler extender: filter, prioritize, bind for a real kube-scheduler."""

from kubestow.live.extender.host import COMPONENT, ExtenderHost, ExtenderOptions

__all__ = ["COMPONENT", "ExtenderHost", "ExtenderOptions"]
