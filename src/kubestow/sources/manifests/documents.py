"""Reads documents from files, folders and streams: YAML or JSON, one or many, lists unfolded.

Every document keeps its place (file and number) for error messages. Input is data, never code:
only the safe loader is used, and documents that contain themselves or unfold without limit are
refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kubestow.model import errors

SUFFIXES = (".yaml", ".yml", ".json")
# Far above any real manifest; a few hundred bytes of nested aliases can exceed the memory.
MAX_UNFOLDED = 20_000_000

_SAFE: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Loader: Any = type("_Loader", (_SAFE,), {})
# YAML 1.1 gives the plain scalar "=" a meaning of its own; CRDs list it among operators.
_Loader.add_constructor("tag:yaml.org,2002:value", lambda _, node: node.value)


@dataclass(frozen=True, slots=True)
class Document:
    """A decoded document and its place, e.g. ``cluster.yaml#3``.

    ``named`` tells whether the user named its file; documents of a folder may be skipped.
    """

    place: str
    value: Any
    named: bool = True


Refuse = Callable[[Path, errors.InputError], None]
"""Called with a file of a folder that cannot be read, and the reason."""


def read_documents(source: str, refuse: Refuse | None = None) -> list[Document]:
    """Read all documents of a file, of a folder (recursively, sorted), or ``-`` for standard input.

    Args:
        source: The file or folder.
        refuse: Called for unreadable files of a folder, which are then skipped; default: raise.

    Raises:
        InputError: If there is nothing to read, or a document is malformed.
    """
    if source == "-":
        return parse_documents(sys.stdin.read(), "<stdin>")
    path = Path(source)
    if not path.is_dir():
        return parse_documents(_text(path), path.name)
    files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
    if not files:
        raise errors.InputError(source, "no .yaml, .yml or .json file in this folder")
    documents: list[Document] = []
    for file in files:
        try:
            parsed = parse_documents(_text(file), str(file.relative_to(path)))
        except errors.InputError as error:
            if refuse is None:
                raise
            refuse(file, error)
        else:
            documents += [replace(document, named=refuse is None) for document in parsed]
    return documents


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise errors.InputError(str(path), "no such file or folder") from None
    except (OSError, UnicodeDecodeError) as err:
        raise errors.InputError(str(path), f"cannot be read: {err}") from err


def parse_documents(text: str, name: str) -> list[Document]:
    """Parse a text that holds YAML documents, one JSON document, or JSON lines."""
    values = _parse_json(text, name) if text.lstrip()[:1] in ("{", "[") else None
    aliases = values is None  # only YAML has them
    if values is None:
        values = list(_parse_yaml(text, name))
    documents: list[Document] = []
    for number, value in enumerate(values, start=1):
        place = f"{name}#{number}"
        if aliases:
            _refuse_unbounded(value, place)
        documents.extend(unfold_document(Document(place, value)))
    return documents


def _parse_json(text: str, name: str) -> list[Any] | None:
    """Parse JSON or JSON lines; ``None`` if the text is YAML in flow style."""
    try:
        return [json.loads(text)]
    except RecursionError:
        raise errors.InputError(name, "nested too deeply") from None
    except json.JSONDecodeError as whole:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            if name.endswith(".json"):
                raise errors.InputError(
                    f"{name}: line {whole.lineno}, column {whole.colno}",
                    f"broken JSON: {whole.msg}",
                ) from whole
            return None


def _parse_yaml(text: str, name: str) -> Iterator[Any]:
    try:
        for value in yaml.load_all(text, Loader=_Loader):
            if value is not None:
                yield value
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        place = f"{name}: line {mark.line + 1}, column {mark.column + 1}" if mark else name
        raise errors.InputError(place, f"broken YAML: {err.problem or err.context}") from err
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        reason = " ".join(str(err).split()) or type(err).__name__
        raise errors.InputError(name, f"broken YAML: {reason}") from err


def _refuse_unbounded(value: Any, place: str) -> None:
    """Refuse cycles and alias bombs; shared parts are measured once."""
    sizes: dict[int, int] = {}
    on_path: set[int] = set()

    def size(node: Any, depth: int) -> int:
        if not isinstance(node, dict | list):
            return 1
        key = id(node)
        if key in on_path:
            raise errors.InputError(place, "the document contains itself (a cyclic alias)")
        if key in sizes:
            return sizes[key]
        if depth > 200:
            raise errors.InputError(place, "nested deeper than 200 levels")
        on_path.add(key)
        children: Iterable[Any] = node.values() if isinstance(node, dict) else node
        total = 1 + sum(size(child, depth + 1) for child in children)
        on_path.discard(key)
        sizes[key] = total
        return total

    if size(value, 0) > MAX_UNFOLDED:
        raise errors.InputError(place, f"unfolds to more than {MAX_UNFOLDED} values")


def unfold_document(document: Document) -> Iterator[Document]:
    """Unfold ``kind: List`` and its typed relatives into their items."""
    value = document.value
    if isinstance(value, dict) and str(value.get("kind", "")).endswith("List") and "items" in value:
        items = value["items"] if value["items"] is not None else []
        if not isinstance(items, list):
            raise errors.InputError(f"{document.place}: items", "expected a list")
        item_kind = str(value["kind"]).removesuffix("List")
        for index, item in enumerate(items):
            place = f"{document.place}: items[{index}]"
            if isinstance(item, dict) and item_kind and "kind" not in item:
                # The API server leaves kind out of the items of a typed list.
                kinded = {"apiVersion": value.get("apiVersion", ""), "kind": item_kind}
                yield Document(place, kinded | item)
            else:
                yield Document(place, item)
    else:
        yield document
