"""The matrix: what is run, in which order, and that nothing is asked for that the engine would refuse."""

import functools
import json
import random

import pytest
from hooke.expand import validate_run

from benchmarks.evidence.cells import Score, best_of, cells, count, first_rate, pace_cells, target_cell
from benchmarks.evidence.conditions import (
    BEST,
    DDP,
    FULL,
    METHODS,
    ORIGINAL,
    PLACES,
    QUICK,
    Matrix,
    without_bf16,
    without_root,
)
from benchmarks.peers.settings import Settings

MATRICES = (FULL, QUICK, without_root(FULL), without_root(QUICK))
ALL = (*MATRICES, *map(without_bf16, MATRICES))


@functools.cache
def all_of(matrix: Matrix) -> list:
    """Run a matrix without running anything: made-up scores, one cell after the other."""
    draw, done, scores = random.Random(0), {}, {}
    while (cell := next((c for c in cells(matrix, scores) if c.key not in done), None)) is not None:
        done[cell.key] = cell
        if cell.kind == "target":
            scores[cell.key] = Score(draw.choice([None, draw.random()]), draw.random())
    return list(done.values())


@pytest.mark.parametrize("matrix", ALL)
def test_the_matrix_ends_and_is_as_large_as_it_says(matrix):
    done = all_of(matrix)
    assert len(done) == count(matrix) == len({cell.key for cell in done})


def test_what_is_asked_for_is_valid():
    asked = [cell for matrix in ALL for cell in all_of(matrix)]
    for cell in {(cell.place, cell.label): cell for cell in asked}.values():
        if "settings" in cell.document:
            Settings(**cell.document["settings"]).spec()
        else:
            spec = validate_run(cell.document)
            assert spec.workers == cell.place.hosts
            assert spec.world == ("virtual" if cell.place.world == "virtual" else "mpi")


def test_the_most_important_claims_get_their_data_first():
    first = [cell for cell in all_of(FULL) if cell.kind == "target"]
    head = [label for label in METHODS if METHODS[label].headline]
    assert {BEST.label, ORIGINAL.label, DDP.label} <= set(head)
    assert [cell.label for cell in first[: len(head)]] == head
    assert {(cell.place.name, cell.rate, cell.seed) for cell in first[: len(METHODS)]} == {("8-hosts", 0.1, 0)}
    tried = [cell.key for cell in first]
    for cell in first:
        if cell.seed > 0:
            grid = [target_cell(FULL, cell.place, cell.method, rate, 0).key for rate in FULL.rates]
            assert max(map(tried.index, grid)) < tried.index(cell.key), "a seed before its method's grid"


def test_every_method_has_the_same_grid():
    grids = {}
    for cell in all_of(FULL):
        if cell.kind == "target" and cell.seed == 0:
            document = cell.document.get("settings") or cell.document["algorithm"]["parameters"]
            grids.setdefault((cell.place.name, cell.label), set()).add((cell.rate, document["lr"]))
    assert grids.keys() == {(place, label) for place in FULL.places for label in FULL.at(place)}
    assert set(FULL.at("8-hosts")) == METHODS.keys()
    for (place, label), grid in grids.items():
        scale = METHODS[label].scale(PLACES[place].hosts)
        assert {rate for rate, _ in grid} == set(FULL.rates)
        assert all(lr == pytest.approx(rate * scale, rel=1e-5) for rate, lr in grid)
    assert METHODS["Async SGD"].scale(8) == 0.25
    assert METHODS["Async MSGD"].scale(2) == pytest.approx(0.1)


def test_what_is_compared_is_run_one_after_the_other():
    told = [(cell.seed, cell.place.name) for cell in pace_cells(FULL)]
    assert [pair for n, pair in enumerate(told) if told.index(pair) != n and told[n - 1] != pair] == []


def test_a_key_is_that_of_what_is_run_and_where():
    place, method = PLACES["2-hosts"], METHODS[BEST.label]
    key = target_cell(FULL, place, method, 0.1, 0).key
    assert key == target_cell(FULL, place, method, 0.1, 0).key
    others = [
        target_cell(FULL, PLACES["8-hosts"], method, 0.1, 0),
        target_cell(FULL, place, METHODS[ORIGINAL.label], 0.1, 0),
        target_cell(FULL, place, method, 0.05, 0),
        target_cell(FULL, place, method, 0.1, 1),
        target_cell(QUICK, place, method, 0.1, 0),
    ]
    assert len({key, *(cell.key for cell in others)}) == 6


def test_the_best_rate_is_that_of_the_soonest_then_of_the_most_accurate():
    assert best_of({0.05: Score(9.0, 0.99), 0.1: Score(5.0, 0.988), 0.15: Score(None, 0.987)}) == 0.1
    assert best_of({0.05: Score(None, 0.97), 0.1: Score(None, 0.98), 0.15: Score(None, 0.1)}) == 0.1
    assert best_of({"a": Score(9.0, 0.99), "b": Score(None, 0.995)}) == "a"
    empty: dict[str, Score] = {}
    assert best_of(empty) is None
    assert first_rate(FULL) == 0.1


def test_without_root_there_are_no_hosts():
    assert {cell.place.world for cell in all_of(without_root(QUICK))} == {"here", "virtual"}


@pytest.mark.parametrize("matrix", [FULL, QUICK])
def test_without_bf16_the_same_is_run_in_fp32_and_once(matrix):
    """The page says which precision is meant; a label that names fp32 has nothing left to be compared with."""
    low, full = ({cell.label: cell.document for cell in all_of(m)} for m in (matrix, without_bf16(matrix)))
    assert '"bf16"' not in json.dumps(
        [document.get("compute") or document["settings"] for document in full.values()]
    )
    gone = {"PyTorch DDP, fp32", "Hooke, bf16", "plain PyTorch, bf16"}
    assert low.keys() - full.keys() == gone & low.keys()
    assert "Hooke, fp32" in full
