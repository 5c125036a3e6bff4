"""The house: every module has a user, every public class name one meaning."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "kubestow"

# The operator will host these parts of the store.
WAITING_FOR_THE_OPERATOR = {
    "kubestow.live.stores.agents",
    "kubestow.live.stores.claims",
    "kubestow.live.stores.evaluations",
    "kubestow.live.stores.runs",
    "kubestow.live.stores.samples",
}
# Loaded by name at run time, where an import would cost every start or is the process itself.
LOADED_BY_NAME = {
    "kubestow.policies.forecasting.gru.training": "kubestow.policies.forecasting.gru.networks",
    "kubestow.studies.schubert.limits.background_load": (
        "kubestow.studies.schubert.limits.child_processes"
    ),
}
# Names that mean the same thing in two places, each with the reason.
SAME_MEANING = {
    "Severity": "cli.names has the values without loading the workflow; a test compares"
}


def entry_modules() -> set[str]:
    """Return what users start from: the program, the library, plugins, testing, commands."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    scripts = {value.split(":")[0] for value in project["scripts"].values()}
    commands = {
        f"kubestow.cli.{path.stem}"
        for path in (SOURCE / "cli").glob("*.py")
        if path.stem != "__init__" and "app = " in path.read_text(encoding="utf-8")
    }
    faces = {"kubestow", "kubestow.library", "kubestow.plugins", "kubestow.testing"}
    return scripts | commands | faces


def test_every_module_is_reached_from_a_command_a_server_or_a_public_name() -> None:
    graph = grimp.build_graph("kubestow")
    reached: set[str] = set()
    waiting = list(entry_modules())
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        waiting += graph.find_modules_directly_imported_by(module)
        waiting += [name for name, loader in LOADED_BY_NAME.items() if loader == module]
        if "." in module:
            waiting.append(module.rsplit(".", 1)[0])
    assert graph.modules - reached == WAITING_FOR_THE_OPERATOR


def test_what_is_loaded_by_name_is_named_there() -> None:
    for name, loader in LOADED_BY_NAME.items():
        path = SOURCE.parent / (loader.replace(".", "/") + ".py")
        assert f'"{name}"' in path.read_text(encoding="utf-8"), (name, loader)


def test_public_class_names_have_one_meaning() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert shared.keys() == SAME_MEANING.keys(), shared


def test_no_package_has_too_many_files_side_by_side() -> None:
    for folder in {path.parent for path in SOURCE.rglob("*.py")}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        most = 25 if folder.name == "cli" else 20  # one module per command
        assert len(files) <= most, folder


def test_the_version_is_that_of_the_distribution() -> None:
    import kubestow

    assert kubestow.__version__ == metadata.version("kubestow")
