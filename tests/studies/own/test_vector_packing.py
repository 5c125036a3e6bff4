"""The study on packing instances: data that is missing, and a run on a made-up data folder."""

import gzip
import io
import pathlib
import tarfile

import pytest

from kubestow.model import errors
from kubestow.policies.placing.packing import instances, verification
from kubestow.policies.placing.packing.offline import heuristics
from kubestow.studies.options import StudyOptions
from kubestow.studies.own import vector_packing

VBP = "1\n10\n2\n6 2\n4 2\n"  # two nodes of 6 + 4


def write_archive(path: pathlib.Path, names: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:xz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(VBP)
            archive.addfile(member, io.BytesIO(VBP.encode()))


@pytest.fixture
def data(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "data"
    first = folder / "vbp_mommessin"
    write_archive(
        first / "instances.tar.xz", [f"{family}/classA_4_1_0.vbp" for family in vector_packing.SETS]
    )
    for family in vector_packing.SETS:
        with gzip.open(first / f"{family}_summary_known.tsv.gz", "wt") as stream:
            stream.write("instance_name\tLB\tOPT\nclassA_4_1_0\t2\t2\nclassA_4_1_1\t2\t-1\n")
    second = folder / "vbp_caprara_toth"
    write_archive(second / "instances.tar.xz", ["CL_1_4_1.vbp"])
    (second / "bounds.csv").write_text("instance,class,n,lower,upper\nCL_1_4_1.vbp,1,4,2,2\n")
    monkeypatch.setenv("KUBESTOW_DATA", str(folder))
    return folder


def test_missing_data_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESTOW_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(errors.InputError, match=r"vbp_mommessin/.* is missing.* KUBESTOW_DATA"):
        vector_packing.find_data()


@pytest.mark.usefixtures("data")
def test_a_run_writes_its_files_and_can_be_repeated(tmp_path: pathlib.Path) -> None:
    options = StudyOptions(out=tmp_path / "out", quick=True, lists=2)
    seen: list[float] = []
    results = vector_packing.run(options, lambda done, _total, _label: seen.append(done))
    table = (options.out / "table.md").read_text()
    assert "| completion | 1 | 1.0000 |" in table
    cell = next(
        c
        for c in results["cells"]
        if c["method"] == "exact-2s" and c["set"] == "CapraraToth" and c["class"] == "class1"
    )
    assert (cell["nodes"], cell["known"], cell["proven"]) == (2, 2, 1)
    # Kept rows are taken over; a cut last line is run again.
    rows = (options.out / "rows.jsonl").read_text()
    (options.out / "rows.jsonl").write_text(rows[:-20])
    assert len(vector_packing.read_rows(options.out / "rows.jsonl")) == len(seen) - 1


def test_fewer_nodes_than_needed_are_an_error() -> None:
    instance = instances.make_instance([[6], [4]], [10])
    case = vector_packing.Case("New", "classA", instance, known=2)
    with pytest.raises(verification.PackingError, match="1 nodes, but 2 are needed"):
        vector_packing.measure(
            "x", case, lambda c: (heuristics.OFFLINE_HEURISTICS.get("ffd-l1").pack(c.instance), 0)
        )
