"""The matrix: what is run, in which order, and that nothing is asked for that the engine would refuse."""

import functools
import json
import random

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.evidence.cells import cells, target_cell
from benchmarks.evidence.conditions import CLAIM_SEEDS, HOLDING_SEEDS, PLACES, SEEDS, TUNING_SEED
from benchmarks.evidence.matrix import FULL, QUICK, Matrix, without_bf16, without_data, without_root
from benchmarks.evidence.methods import BEST, DDP_OVERLAP, EASGD3, LADDER, METHODS, ORIGINAL, REPLICATION, Method
from benchmarks.evidence.search import Trial
from benchmarks.peers.settings import Settings

MATRICES = (FULL, QUICK, without_root(FULL), without_root(QUICK))
ALL = (*MATRICES, *map(without_bf16, MATRICES))


@functools.cache
def all_of(matrix: Matrix) -> list:
    """Run a matrix without running anything: made-up trials of the runs that choose, one cell after the other."""
    draw, done, trials = random.Random(0), {}, {}
    while missing := [c for c in cells(matrix, trials) if c.key not in done]:
        for cell in missing:
            done[cell.key] = cell
            if cell.kind == "tuning":
                trials[cell.key] = Trial(draw.choice([None, draw.random()]), draw.random(), draw.random() < 0.2)
                break  # what is next may depend on it
    return list(done.values())


@pytest.mark.parametrize("matrix", ALL)
def test_the_matrix_ends_and_is_at_least_as_large_as_it_says(matrix):
    done = all_of(matrix)
    assert len(done) >= matrix.least
    assert len(done) == len({cell.key for cell in done})
    if matrix.fixed_rate:
        assert len(done) == matrix.least


def test_what_is_asked_for_is_valid():
    asked = [cell for matrix in ALL for cell in all_of(matrix)]
    for cell in {(cell.place, cell.label): cell for cell in asked}.values():
        if "settings" in cell.document:
            Settings(**cell.document["settings"]).spec()
        else:
            spec = validate_run(cell.document)
            assert spec.workers == cell.place.hosts
            assert spec.world == ("virtual" if cell.place.world == "virtual" else "mpi")
            assert spec.target is None or spec.target.metric == "validation_accuracy"


def test_the_paper_s_ladder_gets_its_data_first():
    first = [cell for cell in all_of(FULL) if cell.kind != "pace"]
    ladder = {method.label for method in LADDER}
    until = next(n for n, cell in enumerate(first) if cell.label not in ladder or cell.place.name != "8-hosts")
    seen = {(cell.label, cell.seed) for cell in first[:until] if cell.kind == "target"}
    assert seen == {(label, seed) for label in ladder for seed in range(CLAIM_SEEDS)}
    order = [cell.label for cell in all_of(FULL) if cell.kind != "pace"]
    assert max(map(order.index, (m.label for m in REPLICATION))) < order.index(BEST.label)


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_seed_that_chooses_is_in_no_result(matrix):
    done = all_of(matrix)
    choosing = {TUNING_SEED} if matrix.fixed_rate else {TUNING_SEED, *HOLDING_SEEDS}
    assert {cell.seed for cell in done if cell.kind == "tuning"} == choosing
    assert not choosing & {cell.seed for cell in done if cell.kind != "tuning"}
    assert not any(cell.kind == "tuning" and METHODS[cell.label].tuned_as for cell in done)


def test_claims_of_the_paper_stand_on_five_seeds_the_others_on_three():
    for place in FULL.places:
        for label in FULL.at(place):
            known = label in {method.label for method in REPLICATION}
            assert len(FULL.seeds(place, label)) == (CLAIM_SEEDS if known else SEEDS), label


def test_seeds_are_run_at_the_best_rate_when_it_is_known():
    done = all_of(FULL)
    for cell in done:
        if cell.kind == "target":
            own = METHODS[METHODS[cell.label].tuned_as or cell.label].label
            before = [c for c in done[: done.index(cell)] if c.kind == "tuning" and c.place == cell.place]
            assert cell.rate in {c.rate for c in before if c.label == own}


def test_methods_that_share_a_search_have_the_same_rate():
    rates = {}
    for cell in all_of(FULL):
        if cell.kind == "target" and cell.label.startswith("Sync EASGD") and cell.label[10:] in ("1", "2", "3"):
            rates.setdefault(cell.place.name, set()).add(cell.rate)
    assert set(map(len, rates.values())) == {1}


def test_the_scale_of_rates_is_a_rule():
    """Momentum: 1 - mu. Pushed without averaging: 1 / (P tau), exactly. Nothing else."""
    assert METHODS["Async SGD"].scale(8) == 1 / 8
    assert METHODS["Async SGD, period 16"].scale(8) == 1 / 128
    assert METHODS["Hogwild SGD, period 16"].scale(2) == 1 / 32
    assert METHODS["Async MSGD"].scale(2) == pytest.approx(0.1 / 2)
    assert METHODS["Async MSGD, period 16"].scale(8) == pytest.approx(0.1 / 128)
    assert METHODS["Async MEASGD, period 16"].scale(8) == pytest.approx(0.1)
    assert METHODS[DDP_OVERLAP.label].scale(8) == METHODS[EASGD3.label].scale(8) == 1
    cell = target_cell(FULL, PLACES["8-hosts"], METHODS["Async SGD, period 16"], 0.1, 0)
    assert cell.document["algorithm"]["parameters"] == {"period": 16, "lr": 0.00078125}


def test_what_is_compared_is_run_one_after_the_other():
    told = [(cell.seed, cell.place.name) for cell in all_of(FULL) if cell.kind == "target"][:12]
    assert told == sorted(told, key=lambda pair: pair[0])


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


def test_a_result_of_another_rule_of_time_is_not_taken_for_one(monkeypatch):
    asked = FULL, PLACES["2-hosts"], METHODS[BEST.label], 0.1, 0
    before = target_cell(*asked).key
    monkeypatch.setattr("benchmarks.evidence.cells.CLOCK", 3)
    assert target_cell(*asked).key != before


def test_without_root_there_are_no_hosts():
    assert {cell.place.world for cell in all_of(without_root(FULL))} == {"here", "virtual"}


def test_without_the_data_of_the_chip_it_is_left_out():
    there = frozenset({"mnist", "cifar10-lossless-4k"})
    assert without_data(FULL, there) == FULL
    gone = {cell.label for cell in all_of(FULL)} - {cell.label for cell in all_of(without_data(FULL, frozenset()))}
    assert gone == {"chip in 1 part", "chip in 4 parts", "chip in 8 parts", "chip in 16 parts"}


@pytest.mark.parametrize("matrix", [FULL, QUICK])
def test_without_bf16_the_same_is_run_in_fp32_and_once(matrix):
    """The page says which precision is meant; a label that names fp32 has nothing left to be compared with."""
    low, full = ({cell.label: cell.document for cell in all_of(m)} for m in (matrix, without_bf16(matrix)))
    computed = [document.get("compute") or document["settings"]["precision"] for document in full.values()]
    assert '"bf16"' not in json.dumps(computed)
    assert low.keys() - full.keys() == {"Hooke, bf16", "plain PyTorch, bf16"} & low.keys()
    assert "Hooke, fp32" in full


def test_a_method_of_the_paper_is_published_and_a_means_makes_it_ours():
    """Plain steps, an exchange in every step, trees, fp32 on the wire."""
    published = {label for label, method in METHODS.items() if method.published}
    assert published == {m.label for m in REPLICATION if "period" not in m.label}
    changed = ({"momentum": 0.9}, {"period": 16}, {"pipelined": True})
    assert not any(Method("", "sync-easgd3", {"beta": 0.9, **one}).published for one in changed)
    assert not Method("", "sync-easgd3", {"beta": 0.9}, {"wire": "bf16"}).published
    assert not DDP_OVERLAP.published
