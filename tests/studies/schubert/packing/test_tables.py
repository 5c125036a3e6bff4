"""The thesis' tables, as far as the text of the thesis lets us check them."""

from kubestow.studies.schubert.packing import tables as packing_tables


def test_there_are_twelve_tables_of_thirteen_rows() -> None:
    cells = packing_tables.synthetic_cells()
    tables = [cell.table for cell in cells]
    assert list(dict.fromkeys(tables)) == [f"A{number}" for number in range(1, 13)]
    assert all(tables.count(table) == 13 for table in tables)
    assert {cell.a for cell in cells} == {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25}


def test_each_simulation_has_its_own_heuristics() -> None:
    for cell in packing_tables.synthetic_cells():
        expected = (
            ["first-fit", "k8s-least", "k8s-most", "permutation-pack", "vector-dot"]
            if cell.experiment == "E4"
            else ["first-fit", "k8s-vector-dot", "k8s-reweighted", "k8s-most"]
        )
        assert list(cell.nodes) == expected


def test_anchor_values_are_as_printed() -> None:
    result = {(cell.table, cell.a): cell for cell in packing_tables.read_cells()}
    assert result["A4", 2].nodes["k8s-least"] == 126.540667
    assert result["A6", 10].nodes["vector-dot"] == 119.766667
    assert result["A11", 25].nodes["k8s-vector-dot"] == 109.274667
    assert packing_tables.empirical_cell().nodes["k8s-vector-dot"] == 45.4047


def test_k8s_least_is_worst_in_all_117_cells_of_the_first_simulation() -> None:
    first = [cell for cell in packing_tables.synthetic_cells() if cell.experiment == "E4"]
    assert len(first) == 117
    assert all(max(cell.nodes, key=lambda n: cell.nodes[n]) == "k8s-least" for cell in first)


def test_means_over_1500_lists_are_multiples_of_one_1500th() -> None:
    # Six printed decimals of a multiple of 1/1500: a mistyped digit would show.
    for cell in packing_tables.synthetic_cells():
        for nodes in cell.nodes.values():
            assert abs(nodes * 1500 - round(nodes * 1500)) < 1e-3
