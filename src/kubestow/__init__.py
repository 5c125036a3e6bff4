"""Place, size, scale and move Kubernetes workloads, and prove it before you ship it."""

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for; package metadata are slow to import."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415 - see above

    return version(__name__)
