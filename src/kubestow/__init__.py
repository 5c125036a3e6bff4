"""Place, size, scale and move Kubernetes workloads, and prove it before you ship it."""

from importlib.metadata import version as _version

__version__ = _version("kubestow")
