"""Convert decoded documents to typed values.

Durations, field-by-field reading with errors that name the location, and frozen dataclasses with
their JSON schema. ``sources`` reads the files.
"""

from kubestow.model.decoding.durations import duration_seconds, format_duration, parse_duration
from kubestow.model.decoding.fields import Field
from kubestow.model.decoding.selector_texts import parse_selector, selector_json
from kubestow.model.decoding.structures import (
    OneOf,
    Seconds,
    ValueBounds,
    key_of,
    read_structure,
    structure_schema,
    write_structure,
)

__all__ = [
    "Field",
    "OneOf",
    "Seconds",
    "ValueBounds",
    "duration_seconds",
    "format_duration",
    "key_of",
    "parse_duration",
    "parse_selector",
    "read_structure",
    "selector_json",
    "structure_schema",
    "write_structure",
]
