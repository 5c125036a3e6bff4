"""What a release is made of: archives that can be rebuilt, and their checksums."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools import environments, release


@pytest.fixture
def epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")


@pytest.mark.usefixtures("epoch")
def test_a_second_build_gives_the_same_bytes(tmp_path: Path) -> None:
    built = []
    for name in ("first", "second"):
        release.build(Path(sys.executable), tmp_path / name)
        built.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    version = release.read_version()
    assert set(built[0]) == {f"kubestow-{version}-py3-none-any.whl", f"kubestow-{version}.tar.gz"}
    assert built[0] == built[1]
    with zipfile.ZipFile(release.find_wheel(tmp_path / "first")) as wheel:
        names = wheel.namelist()
    assert "kubestow/cli/main.py" in names
    assert "kubestow/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "tools", "benchmarks"))]
    with tarfile.open(tmp_path / "first" / f"kubestow-{version}.tar.gz") as sdist:
        assert f"kubestow-{version}/pyproject.toml" in sdist.getnames()


def test_checksums_are_read_by_the_usual_tool(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    (tmp_path / "b.tar.gz").write_bytes(b"sdist")
    release.write_sums(tmp_path)
    release.write_sums(tmp_path)  # the sums themselves have none
    assert len((tmp_path / release.SUMS).read_text(encoding="utf-8").splitlines()) == 2
    check = ["sha256sum", "--check", "--quiet", release.SUMS]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "a.whl").write_bytes(b"other")
    assert subprocess.run(check, cwd=tmp_path, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize("wheels", [[], ["kubestow-1.whl", "kubestow-2.whl"]], ids=["no", "two"])
def test_there_has_to_be_one_wheel(wheels: list[str], tmp_path: Path) -> None:
    for name in wheels:
        (tmp_path / name).touch()
    with pytest.raises(FileNotFoundError, match=f"{len(wheels)} wheels; expected one"):
        release.find_wheel(tmp_path)


def test_without_a_date_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert release.main() == 2
    assert "'make dist' sets it" in capsys.readouterr().err


def test_an_environment_is_made_empty_each_time(tmp_path: Path) -> None:
    folder = tmp_path / "env"
    folder.mkdir()
    (folder / "left-over").touch()
    python = environments.make_environment(folder)
    assert not (folder / "left-over").exists()
    environments.run(python, "-c", "import pip", cwd=tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        environments.run(python, "-c", "import typer", cwd=tmp_path)
