"""Documentation that cannot drift: reference pages, links, the example of the tutorial."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from kubestow.sources.manifests import cluster as manifests_cluster
from kubestow.sources.prometheus import queries, selectors

ROOT = Path(__file__).parents[1]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATED = [
    "commands.md", "library.md", "heuristics.md", "profiles.md", "evidence.md", "scenarios.md",
    "policies.md",
]  # fmt: skip


@pytest.mark.parametrize("name", GENERATED)
def test_reference_pages_are_what_the_code_says(name: str) -> None:
    generator = load_generator()
    written = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert written == generator.NOTE + generator.PAGES[name](), "run 'make docs'"


def test_the_published_schema_is_what_the_code_says() -> None:
    generator = load_generator()
    path = ROOT / "docs" / "reference" / "scenario.schema.json"
    assert path.read_text(encoding="utf-8") == generator.schema_text(), "run 'make docs'"
    assert set(generator.PAGES) == set(GENERATED)


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_map_names_files_that_exist() -> None:
    source = ROOT / "src" / "kubestow"
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_/]+(?:\.py|/))`", text)
    assert len(named) > 60
    missing = [
        name
        for name in named
        if not (ROOT / name).exists()
        and not any(source.rglob(name))  # also finds neighbours that are named without folder
    ]
    assert missing == []


def test_the_readme_names_the_two_commands_and_its_picture_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme
    assert (ROOT / "docs" / "images" / "demo.png").stat().st_size > 10_000


def test_the_pod_the_tutorial_names_is_the_one_the_example_has() -> None:
    tutorial = (ROOT / "docs" / "tutorial" / "first-steps.md").read_text(encoding="utf-8")
    cluster = manifests_cluster.read_cluster(
        str(ROOT / "examples" / "first-steps" / "cluster.yaml")
    )
    (named,) = re.findall(r"--pod (\S+)", tutorial)
    assert named == cluster.pending[0].key


QUESTIONS = [
    queries.node_cpu(),
    queries.node_disk(),
    queries.node_disk_operations(),
    queries.node_network(),
    queries.container_cpu(),
    queries.container_memory(),
    queries.pod_network(),
    queries.container_disk(),
    queries.container_requests("cpu"),
    queries.request_rate("http_requests_total", [selectors.Matcher("service", "=", "web")]),
]


@pytest.mark.parametrize("query", QUESTIONS, ids=[query.name for query in QUESTIONS])
def test_questions_in_the_guide_are_those_that_are_asked(query: queries.Query) -> None:
    guide = (ROOT / "docs" / "how-to" / "forecast.md").read_text(encoding="utf-8")
    asked = "".join(query.promql.split())
    (result,) = [
        block
        for block in re.findall(r"^# ([^\n]+)\n(.+?)\n(?:\n|```)", guide, re.DOTALL | re.MULTILINE)
        if "".join(block[1].split()) == asked
    ]
    assert query.unit in result[0]
