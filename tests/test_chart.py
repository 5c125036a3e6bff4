"""The chart and the container file: up to date with the code, and nothing missing."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

from kubestow.live.manifests import installation
from kubestow.live.manifests.values import InstallationValues
from kubestow.model import errors
from kubestow.model.decoding import fields, structures

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "chart" / "kubestow"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "deploy" / "generate.py"
    spec = importlib.util.spec_from_file_location("deploy_generate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for their annotations
    spec.loader.exec_module(module)
    return module


def test_the_chart_is_what_the_code_says(generator: ModuleType) -> None:
    expected: dict[str, str] = generator.files()
    result = {
        str(path.relative_to(CHART)): path.read_text(encoding="utf-8")
        for path in CHART.rglob("*")
        if path.is_file()
    }
    assert result == expected, "run 'python deploy/generate.py'"


def test_every_value_that_can_be_chosen_is_used(generator: ModuleType) -> None:
    templates = "".join(
        path.read_text(encoding="utf-8") for path in (CHART / "templates").glob("*.yaml")
    )

    def check(values: Any, path: str) -> None:
        for key, value in values.items():
            if isinstance(value, dict):
                check(value, f"{path}.{key}")
            else:
                assert re.search(rf"{re.escape(path)}\.{key}\b", templates), f"{path}.{key}"

    check(structures.write_structure(InstallationValues()), ".Values")


def test_the_values_of_the_chart_are_the_defaults() -> None:
    document = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert (
        structures.read_structure(InstallationValues, fields.Field(document, "values.yaml"))
        == InstallationValues()
    )


@pytest.mark.parametrize(
    ("document", "fine"),
    [
        ({}, True),
        ({"scheduler": {"term": "clbp"}}, True),
        ({"scheduler": {"term": "best"}}, False),
        ({"replicas": 2}, False),
        ({"admission": {"replicas": 0}}, False),
    ],
    ids=["nothing", "term", "no term", "unknown", "none"],
)
def test_the_schema_refuses_what_the_command_refuses(document: Any, fine: bool) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(document) is fine
    try:
        structures.read_structure(InstallationValues, fields.Field(document, "values"))
    except errors.InputError:
        assert not fine
    else:
        assert fine


CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")


def test_what_the_container_file_copies_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert len(sources) >= 6
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_container_runs_as_the_user_of_the_manifests() -> None:
    (user,) = re.findall(r"^USER (\d+):(\d+)$", CONTAINERFILE, re.MULTILINE)
    deployments = [
        d
        for d in installation.render_installation(InstallationValues())
        if d["kind"] == "Deployment"
    ]
    for deployment in deployments:
        context = deployment["spec"]["template"]["spec"]["securityContext"]
        assert (str(context["runAsUser"]), str(context["runAsGroup"])) == user
    assert 'ENTRYPOINT ["kubestow"]' in CONTAINERFILE
    assert InstallationValues().image in CONTAINERFILE
    # Everything else is read-only there, and numba refuses to start without a folder to write to.
    assert "NUMBA_CACHE_DIR=/tmp/" in CONTAINERFILE


@pytest.mark.parametrize("name", ["live", "build"])
def test_the_container_has_the_releases_that_are_tested(name: str) -> None:
    pin = re.compile(r"^([a-z0-9.-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)
    texts = {
        each: (ROOT / "requirements" / f"{each}.txt").read_text(encoding="utf-8")
        for each in (name, "dev")
    }
    result, tested = (dict(pin.findall(text)) for text in texts.values())
    assert result
    assert {key: release for key, release in result.items() if tested.get(key) != release} == {}
