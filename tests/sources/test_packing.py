"""Packing files: what is read, and how what is wrong is refused."""

import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.sources import packing

VBP = "2\n10 20\n3\n1 2 1\n3 4 2\n\n5 6 1\n"
CAPACITY = {"cpu": "2", "memory": "4Gi"}


def test_vbp_rows_are_expanded_by_their_count() -> None:
    result = packing.parse_vbp(VBP, "folder/small.vbp")
    assert result.name == "small"
    assert result.resources == ("resource-0", "resource-1")
    assert result.demands.tolist() == [[1, 2], [3, 4], [3, 4], [5, 6]]
    assert result.capacity.tolist() == [10, 20]
    assert result.items == ("0", "1", "2", "3")
    assert result.relief == (0.0, 0.0)


def test_negative_sizes_are_read_as_zero_and_kept_as_relief() -> None:
    result = packing.parse_vbp("1\n10\n2\n-2 3\n7 1\n", "x.vbp")
    assert result.demands.tolist() == [[0], [0], [0], [7]]
    assert result.relief == (6.0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.vbp: 0 lines: must have dimensions"),
        ("two\n1\n0\n", "x.vbp:1:1: 'two': must be a whole number >= 1"),
        ("0\n1\n0\n", "x.vbp:1:1: '0': must be a whole number >= 1"),
        ("1 1\n1\n0\n", "x.vbp:1: 2 fields: must be 1 number, the number of dimensions"),
        ("2\n10\n0\n", "x.vbp:2: 1 fields: must be 2 capacities"),
        ("1\n-1\n0\n", "x.vbp:2:1: '-1': must be a number >= 0"),
        ("1\n10\n2\n3 1\n", "x.vbp:3: 2 rows announced, 1 present"),
        ("1\n10\n1\n3\n", "x.vbp:4: 1 fields: must be 2 sizes and a count"),
        ("1\n10\n1\nabc 1\n", "x.vbp:4:1: 'abc': must be a number"),
        ("1\n10\n1\nnan 1\n", "x.vbp:4:1: 'nan': must be a number"),
        ("1\n10\n1\n1_0 1\n", "x.vbp:4:1: '1_0': must be a number"),
        ("1\n10\n1\n3 -1\n", "x.vbp:4:2: '-1': must be a whole number >= 0"),
        ("1\n10\n1\n3 1.5\n", "x.vbp:4:2: '1.5': must be a whole number >= 0"),
        ("1\n10\n1\n11 1\n", "x.vbp:4:1: 11: must be <= 10, the capacity of a node"),
        ("1\n10\n1\n3 10000001\n", "x.vbp: 10000001 items: must be at most 10000000"),
    ],
)
def test_wrong_vbp_is_refused_with_place_value_and_expectation(text: str, message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        packing.parse_vbp(text, "x.vbp")
    assert message in str(caught.value)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 4)), max_size=20))
def test_vbp_survives_a_round_trip(rows: list[tuple[int, int, int]]) -> None:
    body = "".join(f"{a} {b} {count}\n" for a, b, count in rows)
    result = packing.parse_vbp(f"2\n50 50\n{len(rows)}\n{body}", "x.vbp")
    expanded = [[a, b] for a, b, count in rows for _ in range(count)]
    assert result.demands.tolist() == expanded
    assert len(result.items) == len(expanded)


def test_csv_takes_quantities_and_keeps_sums_exact() -> None:
    text = "name,cpu,memory,count\nweb,100m,512Mi,2\ndb,1.5,4Gi,1\n"
    result = packing.parse_csv(text, "pods.csv", CAPACITY)
    # CPU is whole in thousandths, memory in bytes.
    assert result.demands.tolist() == [[100, 2**29], [100, 2**29], [1500, 2**32]]
    assert result.capacity.tolist() == [2000, 2**32]
    assert result.items == ("web", "web", "db")
    assert result.resources == ("cpu", "memory")


def test_a_capacity_of_pods_needs_no_column() -> None:
    result = packing.parse_csv("name,cpu\nweb,1\n", "pods.csv", {"cpu": "2", "pods": "110"})
    assert result.resources == ("cpu", "pods")
    assert result.demands.tolist() == [[1, 1]]
    assert result.capacity.tolist() == [2, 110]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv: is empty"),
        ("pod,cpu,memory\n", "p.csv:1: 'pod,cpu,memory': must be name,<resource>"),
        ("name,count\n", "p.csv:1: 'name,count': must be name,<resource>"),
        ("name,cpu,cpu,memory\n", "p.csv:1: 'name,cpu,cpu,memory': must be"),
        ("name,cpu,gpu\n", "p.csv:1: gpu: has no capacity; given: cpu, memory"),
        ("name,cpu\nweb,1\n", "capacity: memory: is not a column of p.csv:1; columns: cpu"),
        ("name,cpu,memory\nweb,1\n", "p.csv:2: 2 fields: must be 3 fields"),
        ("name,cpu,memory\nweb,much,1\n", "p.csv:2: cpu: 'much' is not a quantity"),
        ("name,cpu,memory\nweb,-1,1\n", "p.csv:2: cpu: -1: must be >= 0"),
        ("name,cpu,memory\nweb,3,1\n", "p.csv:2: cpu: 3: must be <= 2, the capacity of a node"),
        ("name,cpu,memory\n,1,1\n", "p.csv:2: name: '': must be a unique name"),
        ("name,cpu,memory\na,1,1\na,1,1\n", "p.csv:3: name: 'a': must be a unique name"),
        ("name,cpu,memory,count\na,1,1,x\n", "p.csv:2:4: 'x': must be a whole number"),
        ('name,cpu,memory\n"a,1,1\n', "is not CSV"),
    ],
)
def test_wrong_csv_is_refused_with_place_value_and_expectation(text: str, message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        packing.parse_csv(text, "p.csv", CAPACITY)
    assert message in str(caught.value)


def test_files_are_read_by_their_ending(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.vbp").write_text(VBP)
    (tmp_path / "a.csv").write_text("name,cpu\nweb,1\n")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "b.vbp").write_bytes(b"\xff\xfe")
    assert len(packing.read_packing(tmp_path / "a.vbp").demands) == 4
    assert len(packing.read_packing(tmp_path / "a.csv", {"cpu": "1"}).demands) == 1
    for name, message in (
        ("a.csv", "CSV needs the capacity of a node"),
        ("a.txt", "suffix '.txt': must be .vbp or .csv"),
        ("b.vbp", "byte 0: must be UTF-8 text"),
        ("c.vbp", "cannot be read: No such file"),
    ):
        with pytest.raises(errors.InputError, match=message):
            packing.read_packing(tmp_path / name)


@pytest.mark.parametrize("text", ["cpu", "cpu=", "=1", "cpu=1,cpu=2", "cpu=x", ""])
def test_wrong_capacities_are_refused(text: str) -> None:
    with pytest.raises(errors.InputError, match="capacity"):
        packing.parse_capacity(text)


def test_assignments_are_written_completely_or_not_at_all(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "out.csv"
    packing.write_assignments(
        path, [("completion", ["a", "b"], ["0", ""]), ("ffd-l1", ["a"], ["n3"])]
    )
    assert path.read_text() == "heuristic,item,node\ncompletion,a,0\ncompletion,b,\nffd-l1,a,n3\n"
    with pytest.raises(ValueError, match="argument"):
        packing.write_assignments(path, [("completion", ["a"], [])])
    assert path.read_text().startswith("heuristic,item,node\ncompletion,a,0")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]
