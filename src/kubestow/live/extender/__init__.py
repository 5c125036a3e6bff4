"""The scheduler extender: filter, prioritize, bind for a real kube-scheduler."""
