"""Dataclasses out of documents: types, defaults, refusals, and the schema that says the same."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors, quantities
from kubestow.model.decoding import fields, structures
from kubestow.model.decoding.structures import OneOf, Seconds, ValueBounds

NOTHING = quantities.Quantity(0)


@dataclass(frozen=True, slots=True)
class Inner:
    """Something inside.

    Attributes:
        size: How large it is,
            in two lines.
    """

    size: Annotated[int, ValueBounds(least=1, most=9)]
    note_text: str = "none"


@dataclass(frozen=True, slots=True)
class Outer:
    """Everything that can be read.

    More words that the schema leaves out.
    """

    name: str
    inner: Inner
    flag: bool = False
    share: Annotated[float, ValueBounds(above=0, below=1)] = 0.5
    amount: quantities.Quantity = NOTHING
    wait_time: Annotated[Seconds, ValueBounds(above=0)] = 1.0
    delay: Seconds | None = None
    colour: Annotated[str, OneOf(("red", "green"))] = "red"
    many: tuple[Inner, ...] = ()
    by_name: dict[str, Annotated[float, ValueBounds(least=0)]] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    from_: str | None = None
    anything: Any = None

    def check(self, place: fields.Field) -> None:
        if self.name == self.colour:
            raise place["name"].refuse("must not be its colour")


FULL: dict[str, Any] = {
    "name": "x",
    "inner": {"size": 3},
    "flag": True,
    "share": 0.25,
    "amount": "500m",
    "waitTime": "1m30s",
    "delay": 5,
    "colour": "green",
    "many": [{"size": 1}, {"size": 2, "noteText": "two"}],
    "byName": {"a": 1, "b/c": 2.5},
    "numbers": [1, 2],
    "from": "here",
    "anything": {"deep": [1]},
}
LEAST: dict[str, Any] = {"name": "x", "inner": {"size": 1}}
VALIDATOR = jsonschema.Draft202012Validator(structures.structure_schema(Outer))


def read(value: Any) -> Outer:
    return structures.read_structure(Outer, fields.Field(value, "f.yaml"))


def test_every_type_is_read() -> None:
    assert read(FULL) == Outer(
        name="x",
        inner=Inner(3),
        flag=True,
        share=0.25,
        amount=quantities.parse("500m"),
        wait_time=90.0,
        delay=5.0,
        colour="green",
        many=(Inner(1), Inner(2, "two")),
        by_name={"a": 1.0, "b/c": 2.5},
        numbers=(1, 2),
        from_="here",
        anything={"deep": [1]},
    )


def test_what_is_left_out_or_null_has_its_default() -> None:
    assert read(LEAST) == Outer("x", Inner(1))
    assert read({**dict.fromkeys(FULL), **LEAST}) == Outer("x", Inner(1))


def test_what_was_read_is_written_back() -> None:
    written = structures.write_structure(read(FULL))
    assert written["waitTime"] == 90.0
    assert written["from"] == "here"
    assert read(written) == read(FULL)
    assert "delay" not in structures.write_structure(read(LEAST))


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """Return the full document with one place changed."""
    result = copy.deepcopy(FULL)
    here: Any = result
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return result


# path, value, message, and whether a schema can see it
MISTAKES: list[tuple[tuple[str | int, ...], Any, str, bool]] = [
    (("nmae",), "x", "nmae: unknown key; did you mean name?", True),
    (("inner", "siez"), 1, "inner.siez: unknown key; did you mean size?", True),
    (
        ("zzz",),
        1,
        "zzz: unknown key; expected one of name, inner, flag, share, amount, waitTime",
        True,
    ),
    (("name",), None, "name: is missing; expected text", True),
    (("inner",), None, "inner: is missing; expected a mapping", True),
    (("inner", "size"), None, "inner.size: is missing; expected a whole number", True),
    (("name",), 5, "name: 5: expected text", True),
    (("name",), "green", "name: 'green': must not be its colour", False),
    (("inner",), [1], "inner: [1]: expected a mapping", True),
    (("inner", "size"), 0, "inner.size: 0: must be >= 1", True),
    (("inner", "size"), 10, "inner.size: 10: must be <= 9", True),
    (("inner", "size"), 2.5, "inner.size: 2.5: expected a whole number", True),
    (("inner", "size"), True, "inner.size: True: expected a whole number", True),
    (("inner", "size"), "3", "inner.size: '3': expected a whole number", True),
    (("flag",), "yes", "flag: 'yes': expected true or false", True),
    (("share",), 0, "share: 0: must be > 0", True),
    (("share",), 1, "share: 1: must be < 1", True),
    (("share",), "half", "share: 'half': expected a number", True),
    (("amount",), "5X", "amount: '5X': not a quantity; expected a number with", True),
    (("amount",), -1, "amount: -1: must not be negative", True),
    (("amount",), "-1", "amount: '-1': must not be negative", True),
    (("amount",), [1], "amount: [1]: expected a quantity such as 500m or 2Gi", True),
    (("waitTime",), "0s", "waitTime: '0s': must be > 0", True),
    (("waitTime",), 0, "waitTime: 0: must be > 0", True),
    (("waitTime",), "5x", "waitTime: '5x': expected a duration such as 90s, 15m or 1h30m", True),
    (("delay",), -5, "delay: -5: must be a finite number of seconds, 0 or more", True),
    (("colour",), "blue", "colour: 'blue': expected one of red, green", True),
    (("many",), {"size": 1}, "many: {'size': 1}: expected a list", True),
    (("many", 1, "size"), -3, "many[1].size: -3: must be >= 1", True),
    (("many", 0), 7, "many[0]: 7: expected a mapping", True),
    (("byName", "a"), -1, "byName.a: -1: must be >= 0", True),
    (("byName", "b/c"), "much", "byName[b/c]: 'much': expected a number", True),
    (("numbers", 1), "two", "numbers[1]: 'two': expected a whole number", True),
]


@pytest.mark.parametrize(("path", "value", "message", "seen"), MISTAKES)
def test_mistakes_are_refused_with_their_path(
    path: tuple[str | int, ...], value: Any, message: str, seen: bool
) -> None:
    document = changed(path, value)
    with pytest.raises(errors.InputError) as caught:
        read(document)
    assert str(caught.value).startswith(f"f.yaml: {message}")
    assert VALIDATOR.is_valid(document) is not seen


def test_a_whole_number_may_be_written_with_a_decimal_point() -> None:
    # JSON schema counts 3.0 among the integers.
    document = changed(("numbers", 0), 3.0)
    assert VALIDATOR.is_valid(document)
    assert read(document).numbers[0] == 3
    assert isinstance(read(document).numbers[0], int)
    with pytest.raises(errors.InputError, match=r"numbers\[0\]: 3.5: expected a whole number"):
        read(changed(("numbers", 0), 3.5))


def test_a_document_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(errors.InputError, match=r"f.yaml: \[\]: expected a mapping"):
        read([])
    with pytest.raises(errors.InputError, match=r"f.yaml: None: is missing"):
        read(None)
    with pytest.raises(errors.InputError, match="expected text as key, got 3"):
        read({**LEAST, 3: 4})


def test_the_schema_describes_members_and_defaults() -> None:
    schema = structures.structure_schema(Outer)
    assert schema["description"] == "Everything that can be read."
    assert schema["required"] == ["name", "inner"]
    assert schema["properties"]["colour"]["default"] == "red"
    assert schema["properties"]["amount"]["default"] == "0"
    size = schema["$defs"]["Inner"]["properties"]["size"]
    assert size == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "How large it is, in two lines.",
    }
    jsonschema.Draft202012Validator.check_schema(schema)
    VALIDATOR.validate(FULL)
    VALIDATOR.validate(LEAST)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.floats(-2, 2),
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, 1e300]),
    st.sampled_from(["", "x", "red", "5", "5s", "0s", "1h30m", "500m", "2Gi", "1e3", "+1", "-1"]),
)


@given(
    st.sampled_from([path for path, *_ in MISTAKES if path != ("nmae",)]),
    st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.just({"size": 2})),
)
def test_the_schema_accepts_nothing_that_reading_refuses(
    path: tuple[str | int, ...], value: Any
) -> None:
    document = changed(path, value)
    if VALIDATOR.is_valid(document):
        assert isinstance(read(document), Outer)


@given(st.from_regex(r"\A[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE])?\Z"))
def test_quantities_of_the_schema_can_be_read(text: str) -> None:
    document = changed(("amount",), text[:20])
    if VALIDATOR.is_valid(document):
        assert isinstance(read(document), Outer)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Has a literal.

    Attributes:
        way: Which way.
    """

    way: Literal["left", "right"] = "left"


def test_a_literal_is_one_of_some_texts() -> None:
    assert structures.read_structure(Chooser, fields.Field({"way": "right"}, "f")).way == "right"
    with pytest.raises(errors.InputError, match=r"way: 'up'.*left"):
        structures.read_structure(Chooser, fields.Field({"way": "up"}, "f"))
    assert structures.structure_schema(Chooser)["properties"]["way"]["enum"] == ["left", "right"]
