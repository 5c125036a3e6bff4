"""The base of all results: conversion to frames and plain values, display in a notebook."""

from __future__ import annotations

import abc
import html
import importlib
from collections.abc import Mapping
from typing import Any

import polars as pl

from kubestow.model import errors


class Result(abc.ABC):
    """A result that converts to frames and plain values."""

    __slots__ = ()

    @abc.abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """Return the result as a Polars frame."""

    @abc.abstractmethod
    def to_dict(self) -> Any:
        """Return the result as plain values, with the keys of the command's ``-o json``."""

    @abc.abstractmethod
    def summary(self) -> str:
        """Return the result in one sentence."""

    def to_pandas(self) -> Any:
        """Return the result as a pandas frame.

        Raises:
            InputError: If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as err:
            raise errors.InputError(
                "to_pandas", "pandas is not installed; expected: pip install pandas"
            ) from err
        return pandas.DataFrame(self.to_polars().to_dict(as_series=False))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        """Show the result in a notebook: the sentence, then the frame."""
        return f"<p>{html.escape(self.summary())}</p>{self.to_polars()._repr_html_()}"


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, with keys joined by dots.

    >>> flatten({"eru": {"cpu": 0.6}, "seed": 7})
    {'eru.cpu': 0.6, 'seed': 7}
    """
    flat: dict[str, Any] = {}
    for key, member in value.items():
        if isinstance(member, Mapping):
            flat |= flatten(member, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = member
    return flat
