"""The graphs that `vicinal bench` measures on, compared with their definitions."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal_bench.benchmarks.workloads import (
    Requests,
    Workload,
    block_rows,
    few_requests,
    grid_shape,
    matrix_requests,
    moore,
    random_requests,
    random_sparse,
    recorded,
)
from vicinal_command.matrices import Matrix, block_starts
from vicinal_command.outputs import CommandError


def edges_of(workload: Workload) -> set[tuple[int, int]]:
    """Returns the edges; checks that each occurs once."""
    edges = list(zip(workload.sources.tolist(), workload.destinations.tolist(), strict=True))
    assert len(set(edges)) == len(edges) == workload.edges
    return set(edges)


def test_neighbours_are_grouped_by_rank() -> None:
    workload = Workload("", 4, np.array([3, 0, 3, 1]), np.array([2, 2, 0, 2]))
    starts, sources = workload.incoming()
    assert (starts.tolist(), sources.tolist()) == ([0, 1, 1, 4, 4], [3, 0, 1, 3])
    starts, destinations = workload.outgoing()
    assert (starts.tolist(), destinations.tolist()) == ([0, 1, 2, 2, 4], [2, 2, 0, 2])


@pytest.mark.parametrize("density", [0, 0.05, 0.3, 0.7, 1])
def test_random_graphs_have_their_density_and_no_self_edges(density: float) -> None:
    ranks = 200
    workload = random_sparse(ranks, density)
    edges = edges_of(workload)
    assert all(source != destination for source, destination in edges)
    pairs = ranks * (ranks - 1)
    deviation = np.sqrt(pairs * density * (1 - density))
    assert abs(len(edges) - pairs * density) <= 5 * deviation
    assert edges_of(random_sparse(ranks, density)) == edges, "the same graph each time"
    if 0 < density < 1:
        assert edges_of(random_sparse(ranks, density, seed=1)) != edges


@pytest.mark.parametrize(
    ("ranks", "dimensions", "shape"),
    [(32, 2, [8, 4]), (64, 3, [4, 4, 4]), (7, 2, [7, 1]), (2048, 3, [16, 16, 8]), (12, 1, [12]), (1, 2, [1, 1]),
     (60, 3, [5, 4, 3])],
)
def test_grids_are_as_square_as_they_can_be(ranks: int, dimensions: int, shape: list[int]) -> None:
    assert grid_shape(ranks, dimensions) == shape


@pytest.mark.parametrize(("ranks", "radius", "dimensions"), [(36, 1, 2), (125, 2, 3), (9, 4, 1), (8, 3, 2), (24, 2, 3)])
def test_moore_neighbours_are_those_within_the_radius(ranks: int, radius: int, dimensions: int) -> None:
    shape = grid_shape(ranks, dimensions)

    def near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        steps = ((a - b) % side for a, b, side in zip(one, other, shape, strict=True))
        return all(min(step, side - step) <= radius for step, side in zip(steps, shape, strict=True))

    places = list(itertools.product(*map(range, shape)))
    expected = {
        (a, b) for a, b in itertools.permutations(range(ranks), 2) if near(places[a], places[b])
    }
    assert edges_of(moore(ranks, radius, dimensions)) == expected
    if min(shape) > 2 * radius:
        assert len(expected) == ranks * ((2 * radius + 1) ** dimensions - 1)


def random_matrix() -> tuple[Matrix, dict[tuple[int, int], set[int]]]:
    """Returns a matrix, and the columns that each of 5 ranks needs from each other rank."""
    generator = np.random.default_rng(3)
    dense = np.where(generator.random((23, 23)) < 0.1, 1.0, 0.0)
    sparse = csr_array(dense)
    matrix = Matrix("folder/some.mtx", 23, sparse.indptr.astype(np.int64), sparse.indices, sparse.data)
    starts = block_starts(matrix, 5)
    needed: dict[tuple[int, int], set[int]] = {}
    for row, column in zip(*np.nonzero(dense), strict=True):
        needer, owner = (int(np.searchsorted(starts, index, side="right")) - 1 for index in (row, column))
        if needer != owner:
            needed.setdefault((needer, owner), set()).add(int(column))
    return matrix, needed


def test_block_rows_need_the_owners_of_their_columns() -> None:
    matrix, needed = random_matrix()
    workload = block_rows(matrix, block_starts(matrix, 5))
    assert edges_of(workload) == {(owner, needer) for needer, owner in needed}
    assert (workload.name, workload.ranks) == ("SpMM, some.mtx", 5)


def asked_in(requests: Requests) -> dict[tuple[int, int], list[int]]:
    """Returns the values that each rank requests from each other, in the documented order."""
    edges = list(zip(requests.sources.tolist(), requests.destinations.tolist(), strict=True))
    assert edges == sorted(edges_of(requests)) and len(requests.starts) == len(edges) + 1
    lists = np.split(requests.values, requests.starts[1:-1]) if edges else []
    return dict(zip(edges, (numbers.tolist() for numbers in lists), strict=True))


def test_matrix_requests_name_the_columns() -> None:
    matrix, needed = random_matrix()
    requests = matrix_requests(matrix, block_starts(matrix, 5))
    assert asked_in(requests) == {pair: sorted(columns) for pair, columns in needed.items()}
    assert (requests.name, requests.ranks) == ("some.mtx", 5)


@pytest.mark.parametrize("probability", [0, 0.05, 1])
def test_random_requests_have_their_probability(probability: float) -> None:
    ranks, values = 30, 64
    asked = asked_in(random_requests(ranks, values, probability))
    assert all(asker != owner for asker, owner in asked)
    for numbers in asked.values():
        assert numbers == sorted(set(numbers)) and 0 <= numbers[0] and numbers[-1] < values
    possible = ranks * (ranks - 1) * values
    deviation = np.sqrt(possible * probability * (1 - probability))
    assert abs(sum(map(len, asked.values())) - possible * probability) <= 5 * deviation
    assert asked_in(random_requests(ranks, values, probability)) == asked, "the same each time"
    if 0 < probability < 1:
        assert asked_in(random_requests(ranks, values, probability, seed=1)) != asked


@pytest.mark.parametrize(("ranks", "partners"), [(2, 1), (12, 2), (7, 3), (5, 4)])
def test_few_requests_are_spread(ranks: int, partners: int) -> None:
    asked = asked_in(few_requests(ranks, partners, 3))
    assert all(numbers == [0, 1, 2] for numbers in asked.values())
    for rank in range(ranks):
        assert len([pair for pair in asked if pair[0] == rank]) == partners
        assert len([pair for pair in asked if pair[1] == rank]) == partners
    assert all(asker != owner for asker, owner in asked)


@pytest.mark.parametrize("zipped", [False, True])
def test_recorded_patterns_are_read(tmp_path: Path, zipped: bool) -> None:
    text = "# ranks=9 source=somewhere\nsrc,dst,MB\n0,1,3.5\n2,0,0.0001\n1,2,0.00009\n3,3,8\n0,1,1\n\n"
    file = tmp_path / ("run.csv.gz" if zipped else "run.csv")
    file.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    workload = recorded(str(file))
    assert (workload.name, workload.ranks) == ("run", 9)
    assert edges_of(workload) == {(0, 1), (2, 0)}


def test_recorded_patterns_count_their_ranks_where_nothing_says_how_many(tmp_path: Path) -> None:
    file = tmp_path / "run.csv"
    file.write_text("0,4,1\n5,1,0\n")
    assert recorded(str(file)).ranks == 6


@pytest.mark.parametrize(
    ("text", "says"),
    [("", "names no ranks"), ("0,1\n", "line 1"), ("src,dst,MB\n0,-1,2\n", "'-1' is no rank"),
     ("0,1,much\n", "'much' is no number"), ("# ranks=many\n", "'many' is no rank")],
)
def test_recorded_patterns_that_cannot_be_read_are_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "run.csv"
    file.write_text(text)
    with pytest.raises(CommandError, match=says):
        recorded(str(file))


def test_recorded_patterns_that_are_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        recorded(str(tmp_path / "none.csv"))
    file = tmp_path / "half.csv.gz"
    file.write_bytes(gzip.compress(b"0,1,2\n" * 1000)[:-20])
    with pytest.raises(CommandError, match="give a whole CSV file"):
        recorded(str(file))


def test_impossible_graphs_are_refused() -> None:
    for density in (-0.1, 1.1):
        with pytest.raises(CommandError, match="from 0 to 1"):
            random_sparse(4, density)
    for radius, dimensions in ((0, 2), (1, 0)):
        with pytest.raises(CommandError, match="at least 1"):
            moore(4, radius, dimensions)
    for partners in (0, 4):
        with pytest.raises(CommandError, match="give fewer"):
            few_requests(4, partners, 1)
