"""Writes the reference pages from the code, so that they stay in sync.

Run by ``make docs``; a test compares the pages in the tree with the output of this script.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

import kubestow
from kubestow import plugins, testing
from kubestow.cli import main as program
from kubestow.model.decoding import structures
from kubestow.policies.moving import registry as movers
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.packing import heuristics
from kubestow.policies.placing.packing.offline import heuristics as offline_heuristics
from kubestow.policies.placing.profiles import catalog, profile, versions
from kubestow.policies.placing.terms import registry
from kubestow.policies.scaling import registry as scalers
from kubestow.policies.sizing import registry as recommenders
from kubestow.simulation.scenarios import document

HERE = Path(__file__).parent
EXTENDER = "http://kubestow-extender.kubestow.svc"
NOTE = "<!-- Written by docs/generate.py; do not edit. -->\n\n"


def commands() -> str:
    """Return the page of all commands with their options."""
    parts = [
        "# Commands\n\nExit codes: 0 ok, 1 finding or failed check, 2 bad input, 130 interrupted.\n"
    ]
    for name, (module, summary) in program.COMMANDS.items():
        command = get_command(importlib.import_module(module).app)
        parts.append(f"\n## kubestow {name}\n\n{summary}\n\n```text")
        parts.append(inspect.cleandoc(command.help or "") + "\n```\n")
        parts.append("| parameter | meaning | default |\n|---|---|---|")
        parts.extend(_parameter(parameter) for parameter in command.params)
    return "\n".join(parts) + "\n"


def _parameter(parameter: Any) -> str:
    options = [o for o in parameter.opts if o.startswith("-")]
    shown = ", ".join(options) or (getattr(parameter, "metavar", None) or parameter.name).upper()
    default = parameter.default
    if callable(default) or default is None or default is False or parameter.required:
        default = ""
    return f"| `{shown}` | {getattr(parameter, 'help', None) or ''} | {_plain(default)} |"


def _plain(value: Any) -> str:
    return str(getattr(value, "value", value))


def heuristic_page() -> str:
    """Return the page of all packing heuristics."""
    lines = [
        "# Heuristics",
        "",
        "## Online: one item after another",
        "",
        "| name | short | what it does | parameters |",
        "|---|---|---|---|",
    ]
    for one in heuristics.HEURISTICS.entries():
        settings = ", ".join(
            f"{field.name} = {getattr(one.parameters, field.name)}"
            for field in dataclasses.fields(one.parameters)
        )
        lines.append(f"| `{one.name}` | {one.abbreviation} | {one.summary} | {settings} |")
    lines += ["", "## Offline: all items known", "", "| name | what it does |", "|---|---|"]
    lines += [
        f"| `{one.name}` | {one.summary} |"
        for one in offline_heuristics.OFFLINE_HEURISTICS.entries()
    ]
    return "\n".join(lines) + "\n"


def profile_page() -> str:
    """Return the page of shipped profiles and of the differences between releases."""
    lines = ["# Scheduler profiles and releases", "", inspect.getdoc(catalog) or "", ""]
    lines += ["| plugin | stock weight | filters | scores |", "|---|---|---|---|"]
    for name, weight in profile.DEFAULT_PLUGINS:
        filters = "yes" if name in profile.FILTERS else ""
        scores = "yes" if name in profile.SCORES else ""
        lines.append(f"| {name} | {weight if scores else ''} | {filters} | {scores} |")
    for name in catalog.PROFILES:
        written = extender_configuration.write_extender_configuration(
            catalog.make_profile(name), EXTENDER
        )
        document = json.dumps(written, indent=2)
        lines += ["", f"## {name}", "", f"```json\n{document}\n```"]
    lines += ["", "## Releases", "", inspect.getdoc(versions.SchedulerFeatures) or "", ""]
    first, last = versions.OLDEST_VERSION, versions.NEWEST_VERSION
    known = [f"1.{minor}" for minor in range(first[1], last[1] + 1)]
    flags = [field.name for field in dataclasses.fields(versions.SchedulerFeatures)][1:]
    lines += [f"| flag | {' | '.join(known)} |", "|---" * (len(known) + 1) + "|"]
    for flag in flags:
        marks = ["yes" if getattr(versions.scheduler_features(v), flag) else "" for v in known]
        lines.append(f"| {flag} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def evidence_page() -> str:
    """Return the page of stored results of long studies."""
    lines = ["# Evidence", "", "Results of long runs, with the command that rebuilds them.", ""]
    for folder in sorted(p for p in (HERE / "evidence").iterdir() if p.is_dir()):
        readme = folder / "README.md"
        lines.append(
            readme.read_text(encoding="utf-8").replace("\n# ", "\n## ").replace("# ", "## ", 1)
        )
        lines.extend(
            table.read_text(encoding="utf-8").replace("# ", "### ")
            for table in sorted(folder.glob("table*.md"))
        )
    return "\n".join(lines) + "\n"


def scenario_page() -> str:
    """Return the page of all keys of scenario files."""
    lines = [
        "# Scenario files",
        "",
        "The JSON schema is [scenario.schema.json](scenario.schema.json); editors that know YAML",
        "schemas complete and check with it. Durations are written as `90s`, `15m`, `1h30m` or",
        "`250ms`, amounts as Kubernetes quantities. A key that is left out has its default.",
        "",
    ]
    described = document.schema()
    for name, entry in {"Scenario": described, **described["$defs"]}.items():
        lines += [f"## {name}", "", entry["description"], ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, member in entry["properties"].items():
            needed = key in entry["required"]
            default = "required" if needed else _default(member)
            meaning = member.get("description", "").replace("|", "\\|")
            lines.append(f"| `{key}` | {_type(member)} | {default} | {meaning} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _default(member: dict[str, Any]) -> str:
    return f"`{json.dumps(member['default'])}`" if "default" in member else ""


def _type(member: dict[str, Any]) -> str:
    if "$ref" in member:
        name = member["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if member.get("type") == "array":
        return f"list of {_type(member['items'])}"
    if "enum" in member:
        return ", ".join(f"`{word}`" for word in member["enum"])
    if "additionalProperties" in member:
        return f"mapping to {_type(member['additionalProperties'])}"
    if isinstance(member.get("type"), list):
        return "duration" if "ms" in member["pattern"] else "quantity"
    return str(member.get("type", "anything"))


def policy_page() -> str:
    """Return the page of scalers, recommenders, movers and placing terms with parameters."""
    lines = ["# Scalers, recommenders, movers", ""]
    for title, entries in (
        ("Scalers", scalers.SCALERS.entries()),
        ("Recommenders", recommenders.RECOMMENDERS.entries()),
        ("Movers", movers.MOVERS.entries()),
        ("Placing terms", registry.TERMS.entries()),
    ):
        lines += [f"## {title}", ""]
        for entry in entries:
            lines += [f"### {entry.name}", "", f"{entry.summary.rstrip('.')}.", ""]
            described = structures.describe_members(entry.parameters)
            members = dataclasses.fields(entry.parameters)
            if members:
                lines += ["| parameter | default | meaning |", "|---|---|---|"]
            lines += [
                f"| `{structures.key_of(m.name)}` | `{_shown(m)}` | {described.get(m.name, '')} |"
                for m in members
            ]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _shown(member: dataclasses.Field[Any]) -> str:
    missing = dataclasses.MISSING
    if member.default is missing:
        return ""
    return json.dumps(structures.write_structure(member.default), default=str)


def schema_text() -> str:
    """Return the JSON schema of scenario files as text."""
    return json.dumps(document.schema(), indent=1) + "\n"


def library_page() -> str:
    """Return the page of functions, results and test builders of the library."""
    lines = ["# The library", "", inspect.getdoc(kubestow) or "", "", "## Functions", ""]
    objects = {name: getattr(kubestow, name) for name in kubestow.__all__}
    for name, member in objects.items():
        if inspect.isfunction(member):
            lines += _described(f"kubestow.{name}", member)
    lines += ["## Results", ""]
    for name, member in objects.items():
        if inspect.isclass(member):
            lines += [f"### kubestow.{name}", "", _section(inspect.getdoc(member) or ""), ""]
            methods = [one for one in vars(member) if inspect.isfunction(vars(member)[one])]
            lines += [
                f"- `{method}{inspect.signature(vars(member)[method])}`: "
                f"{(inspect.getdoc(vars(member)[method]) or '').splitlines()[0]}"
                for method in methods
                if not method.startswith("_")
            ]
            lines.append("")
    lines += ["## Builders for tests", "", inspect.getdoc(testing) or "", ""]
    for name, member in vars(testing).items():
        if inspect.isfunction(member) and member.__module__ == testing.__name__:
            lines += _described(f"kubestow.testing.{name}", member)
    lines += ["## For plugins", "", inspect.getdoc(plugins) or ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(name: str, function: Any) -> list[str]:
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    code = f"```python\n{name}{signature}\n```"
    return [f"### {name}", "", code, "", _section(inspect.getdoc(function) or ""), ""]


def _section(text: str) -> str:
    """Return a docstring as Markdown: sections in bold, members as lists, examples as blocks."""
    lines, listed = [], False
    for line in text.splitlines():
        if line in ("Args:", "Attributes:", "Raises:", "Returns:", "Examples:"):
            lines += [f"**{line.rstrip(':')}**", ""]
            listed = line != "Examples:"
        elif listed and (member := re.fullmatch(r" {4}(\w+): (.*)", line)):
            lines.append(f"- `{member[1]}`: {member[2]}")
        elif listed and line.startswith(" " * 8):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines)


PAGES = {
    "library.md": library_page,
    "commands.md": commands,
    "scenarios.md": scenario_page,
    "policies.md": policy_page,
    "heuristics.md": heuristic_page,
    "profiles.md": profile_page,
    "evidence.md": evidence_page,
}


def main() -> int:
    """Write all pages."""
    for name, page in PAGES.items():
        (HERE / "reference" / name).write_text(NOTE + page(), encoding="utf-8")
    (HERE / "reference" / "scenario.schema.json").write_text(schema_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
