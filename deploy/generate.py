"""Writes the Helm chart out of the code that ``kubestow install`` uses.

Objects are rendered with marks in place of what can be chosen, and marks become references to
``.Values``. What a switch changes is found by rendering with and without it: the lines that differ
are put between ``if`` and ``end``.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import textwrap
import tomllib
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kubestow.live.manifests import installation
from kubestow.live.manifests.values import CERT_MANAGER, InstallationValues
from kubestow.model.decoding import structures
from kubestow.policies.placing.profiles import catalog
from kubestow.policies.placing.terms import registry

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "chart" / "kubestow"
NOTE = "Written by deploy/generate.py; change that, or the code it takes this from."
_PARTS = {"admission": "admission", "metrics_api": "metricsApi", "scheduler": "scheduler"}
_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
_MARK = re.compile(r"X([a-z][A-Za-z.]*?)X")
_NUMBERED = re.compile(r"70\d\d")
_WIDTH = 96
_SPECIAL = {"issuer": '(.Values.issuer | default "kubestow")'}


@dataclass(frozen=True, slots=True)
class Switch:
    """Something that changes which lines there are."""

    condition: str
    turn: Callable[[InstallationValues], InstallationValues]


@dataclass(frozen=True, slots=True)
class Edit:
    """Other lines in place of some, under a condition."""

    start: int
    end: int
    condition: str
    lines: tuple[str, ...]


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and what comes twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Templates would break between an anchor and its alias."""
        del data
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)


def _marked(kind: Any, path: str, numbers: dict[str, str]) -> Any:
    """Return values with a mark for each text and number that can be chosen."""
    hints = typing.get_type_hints(kind)
    made = {}
    for member in dataclasses.fields(kind):
        inner = f"{path}{structures.key_of(member.name)}"
        free = (
            "enum"
            not in structures.structure_schema(kind)["properties"][structures.key_of(member.name)]
        )
        if dataclasses.is_dataclass(hints[member.name]):
            made[member.name] = _marked(hints[member.name], f"{inner}.", numbers)
        elif hints[member.name] is int:
            number = 7001 + len(numbers)
            numbers[str(number)] = inner
            made[member.name] = number
        elif hints[member.name] is str and free and member.default:
            made[member.name] = f"X{inner}X"
    return kind(**made)


NUMBERS: dict[str, str] = {}
BASE: InstallationValues = _marked(InstallationValues, "", NUMBERS)


def _turn(part: str, **changes: Any) -> Callable[[InstallationValues], InstallationValues]:
    return lambda values: replace(values, **{part: replace(getattr(values, part), **changes)})


def _switches() -> list[Switch]:
    """Return all switches; where two add lines in one place, they do so in this order."""
    cert_manager = {"certificates": CERT_MANAGER, "issuer": "XissuerX"}
    secrets = {"pull_secrets": ("XpullSecretsX",)}
    metrics = ".Values.metricsApi"
    return [
        Switch(f'eq .Values.certificates "{CERT_MANAGER}"', lambda v: replace(v, **cert_manager)),
        Switch(".Values.admission.dryRun", _turn("admission", dry_run=True)),
        Switch(f"{metrics}.rules", _turn("metrics_api", rules="XmetricsApi.rulesX")),
        Switch(f"{metrics}.prometheus", _turn("metrics_api", prometheus="XmetricsApi.prometheusX")),
        Switch(".Values.scheduler.taintHighLoad", _turn("scheduler", taint_high_load=True)),
        *_decision_switches(),
        Switch(".Values.pullSecrets", lambda v: replace(v, **secrets)),
    ]


def _decision_switches() -> list[Switch]:
    """Return a switch for the terms whose configuration a decision changes.

    Terms and decisions themselves are marks.
    """
    plain, found = _unmarked(BASE), []
    for decision in catalog.DECISIONS:
        turns = {term: _turn("scheduler", term=term, decision=decision) for term in registry.TERMS}
        changed = [term for term, turn in turns.items() if _unmarked(turn(BASE)) != plain]
        if changed:
            texts = {_unmarked(turns[term](BASE)) for term in changed}
            if len(texts) > 1:
                raise ValueError(f"{decision}: {changed} need a switch each")
            terms = " ".join(map(json.dumps, changed))
            condition = (
                f'and (eq .Values.scheduler.decision "{decision}") '
                f"(has .Values.scheduler.term (list {terms}))"
            )
            found.append(Switch(condition, turns[changed[0]]))
    return found


def _unmarked(values: InstallationValues) -> str:
    """Return the scheduler's objects without what terms and decisions are called."""
    documents = _lines(_of_part("scheduler", values))
    return str({key: [x for x in lines if not _is_mark(x)] for key, lines in documents.items()})


def _is_mark(line: str) -> bool:
    names = (*registry.TERMS, *catalog.DECISIONS)
    return line.strip() in [f"- {name}" for name in names]


def _of_part(part: str, values: InstallationValues) -> list[dict[str, Any]]:
    """Return the objects of one part."""
    others = [other for other in _PARTS if other != part]
    for other in others:
        values = _turn(other, enabled=False)(values)
    found = installation.render_installation(values)
    return [each for each in found if each["kind"] not in ("Namespace", "Issuer")]


def _lines(documents: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    return {
        (each["kind"], each["metadata"]["name"]): _dump(each).splitlines() for each in documents
    }


def _dump(document: Any) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10**6)


def _template(part: str) -> str:
    """Return the template of one part."""
    base = _lines(_of_part(part, BASE))
    switches = _switches()
    variants = [_lines(_of_part(part, switch.turn(BASE))) for switch in switches]
    keys = [*(key for found in variants for key in found if key not in base), *base]
    made: list[str] = []
    for key in dict.fromkeys(keys):
        made += _document(key, part, base, list(zip(switches, variants, strict=True)))
    return _wrap(f".Values.{_PARTS[part]}.enabled", made)


def _document(
    key: tuple[str, str],
    part: str,
    base: dict[tuple[str, str], list[str]],
    variants: list[tuple[Switch, dict[tuple[str, str], list[str]]]],
) -> list[str]:
    conditions, edits = [], []
    lines = base.get(key)
    for switch, found in variants:
        if lines is None and key in found:
            return _if(switch.condition, ["---", *found[key]])
        if lines is not None and key not in found:
            conditions.append(f"not ({switch.condition})")
        elif lines is not None:
            edits += _edits(lines, found[key], switch.condition)
    kept = [edit for edit in edits if not edit.lines or not all(map(_is_mark, edit.lines))]
    made = ["---", *_merge(lines or [], kept)]
    if part == "scheduler":
        for name in ("term", "decision"):
            mark = re.compile(f"(?<=- ){getattr(BASE.scheduler, name)}$")
            made = [mark.sub(f"{{{{ .Values.scheduler.{name} }}}}", line) for line in made]
    if key[0] == "PodDisruptionBudget":
        conditions.append(f"gt (int .Values.{_PARTS[part]}.replicas) 1")
    for condition in conditions:
        made = _if(condition, made)
    return made


def _edits(old: list[str], new: list[str], condition: str) -> list[Edit]:
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        Edit(start, end, condition, tuple(new[low:high]))
        for what, start, end, low, high in found
        if what != "equal"
    ]


def _merge(lines: list[str], edits: list[Edit]) -> list[str]:
    """Return lines with all edits; they must not overlap."""
    made, place = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):  # else as they came
        if edit.start < place:
            raise ValueError(f"two switches change one line: {edit}")
        made += lines[place : edit.start]
        old, place = lines[edit.start : edit.end], edit.end
        if edit.lines and old:
            made += [f"{{{{- if {edit.condition} }}}}", *edit.lines, "{{- else }}", *old]
            made.append("{{- end }}")
        else:
            condition = edit.condition if edit.lines else f"not ({edit.condition})"
            made += _if(condition, [*(edit.lines or old)])
    return [*made, *lines[place:]]


def _if(condition: str, lines: list[str]) -> list[str]:
    return [f"{{{{- if {condition} }}}}", *lines, "{{- end }}"]


def _wrap(condition: str, lines: list[str]) -> str:
    text = [f"{{{{- /* {NOTE} */}}}}", *_if(condition, lines)]
    return "\n".join(part for line in text for part in _refer(line)) + "\n"


def _refer(line: str) -> list[str]:
    """Turn marks of a line into references; a text that is only a mark is quoted."""
    if "XpullSecretsX" in line:
        each = line.replace("XpullSecretsX", "{{ . | quote }}")
        return ["{{- range .Values.pullSecrets }}", each, "{{- end }}"]
    line = _NUMBERED.sub(lambda found: f"{{{{ .Values.{NUMBERS[found[0]]} }}}}", line)
    whole = re.fullmatch(rf"(.*(?:: |- )){_MARK.pattern}", line)
    if whole:
        return [f"{whole[1]}{{{{ {_value(whole[2])} | quote }}}}"]
    return [_MARK.sub(lambda found: f"{{{{ {_value(found[1])} }}}}", line)]


def _value(path: str) -> str:
    return _SPECIAL.get(path, f".Values.{path}")


def _common() -> dict[str, str]:
    (namespace,) = [d for d in installation.render_installation(BASE) if d["kind"] == "Namespace"]
    own = replace(BASE, certificates=CERT_MANAGER)
    (issuer,) = [d for d in installation.render_installation(own) if d["kind"] == "Issuer"]
    # helm install --create-namespace makes it before, and then it is not the chart's.
    elsewhere = "ne .Release.Namespace .Values.namespace"
    unsigned = f'and (eq .Values.certificates "{CERT_MANAGER}") (not .Values.issuer)'
    return {
        "namespace": _wrap(elsewhere, _dump(namespace).splitlines()),
        "issuer": _wrap(unsigned, _dump(issuer).splitlines()),
    }


def _values_text(value: Any, indent: str = "") -> str:
    """Return defaults as YAML, each under what its class says of it."""
    described, text = structures.describe_members(type(value)), ""
    for member in dataclasses.fields(value):
        inner, key = getattr(value, member.name), structures.key_of(member.name)
        about = described[member.name].replace("``", "")
        room = _WIDTH - len(indent)
        text += "".join(f"{indent}# {line}\n" for line in textwrap.wrap(about, room))
        if dataclasses.is_dataclass(inner):
            text += f"{indent}{key}:\n{_values_text(inner, indent + '  ')}"
        else:
            text += f"{indent}{key}: {json.dumps(inner)}\n"
    return text


def files() -> dict[str, str]:
    """Return the text of every file of the chart by its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = {
        "apiVersion": "v2",
        "name": project["name"],
        "description": project["description"],
        "type": "application",
        "version": project["version"],
        "appVersion": project["version"],
    }
    schema = {"$schema": _SCHEMA, **structures.structure_schema(InstallationValues)}
    templates = {**_common(), **{part.replace("_", "-"): _template(part) for part in _PARTS}}
    return {
        "Chart.yaml": f"# {NOTE}\n{_dump(about)}",
        "values.yaml": f"# {NOTE}\n{_values_text(InstallationValues())}",
        "values.schema.json": json.dumps(schema, indent=2) + "\n",
        **{f"templates/{name}.yaml": text for name, text in templates.items()},
    }


def main() -> None:
    """Write the chart."""
    for name, text in files().items():
        path = CHART / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
