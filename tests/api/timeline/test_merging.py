"""Windows of a rank's phases against sums by hand, and against a run whose journals know the totals."""

import numpy as np
import pytest
from hooke.comm.virtual.communicator import run_virtual
from hooke.spec.journal import records
from hooke.trace.reading import read
from hooke.trace.records import file_of
from hooke_api.timeline.columns import columns
from hooke_api.timeline.merging import inside, operation_of, shares
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.api.timeline.traces import PHASES, Made, lockstep
from tests.engine.trace.cases import RANKS, play, spec_of


def only(made):
    return columns([made.trace()], 1).ranks[0]


def test_slices_have_their_phases_times_and_steps():
    made = Made(0).spend("data", 1).spend("compute", 2).call("all-reduce", 3).spend("update", 4)
    rank = only(made.spend("data", 1).spend("compute", 2))
    assert [PHASES[i] for i in rank.phase] == ["data", "compute", "communicate", "update", "data", "compute"]
    assert rank.began.tolist() == [0, 1, 3, 6, 10, 11]
    assert rank.ended.tolist() == [1, 3, 6, 10, 11, 13]
    assert rank.step.tolist() == [1, 1, 1, 1, 2, 2]


def test_tables_are_built_for_the_gradient_that_follows():
    made = Made(0).spend("data", 1).spend("rebuild", 2).spend("compute", 3).spend("update", 1)
    rank = only(made.spend("data", 1).spend("compute", 3))
    assert [PHASES[i] for i in rank.phase] == ["data", "rebuild", "compute", "update", "data", "compute"]
    assert rank.step.tolist() == [1, 1, 1, 1, 2, 2]
    assert shares(rank, 1, 3, 1)[PHASES.index("rebuild")].tolist() == [1]


def test_a_trace_of_before_that_phase_is_read_by_the_names_of_its_own(monkeypatch):
    six = ("data", "compute", "communicate", "update", "evaluate", "idle")
    monkeypatch.setattr("tests.api.timeline.traces.PHASES", six)
    rank = only(Made(0).spend("data", 1).spend("compute", 2).spend("update", 4))
    assert [PHASES[i] for i in rank.phase] == ["data", "compute", "update"]


def test_each_bin_has_the_shares_of_what_happened_in_it():
    rank = only(Made(0).spend("compute", 3).spend("update", 1).spend("compute", 2))
    found = shares(rank, 0, 6, 3)  # bins of 2 s: compute; half compute, half update; compute
    assert found[PHASES.index("compute")].tolist() == pytest.approx([1, 0.5, 1])
    assert found[PHASES.index("update")].tolist() == pytest.approx([0, 0.5, 0])
    assert found[PHASES.index("idle")].tolist() == [0, 0, 0]


def test_a_slice_shorter_than_a_bin_is_not_lost():
    rank = only(Made(0).spend("compute", 1).spend("update", 1e-6).spend("compute", 1))
    found = shares(rank, 0, 2, 4)
    assert found[PHASES.index("update")].sum() * 0.5 == pytest.approx(1e-6, rel=1e-6)


def test_nothing_is_recorded_behind_the_end():
    found = shares(only(Made(0).spend("compute", 1)), 0, 4, 2)
    assert found.sum(axis=0).tolist() == pytest.approx([0.5, 0])


@settings(max_examples=60)
@given(
    spent=st.lists(st.tuples(st.sampled_from(PHASES), st.floats(1e-3, 2)), min_size=1, max_size=12),
    edges=st.tuples(st.floats(0, 10), st.floats(0.01, 10)),
    bins=st.integers(1, 40),
)
def test_shares_sum_to_the_time_of_each_phase_in_the_window(spent, edges, bins):
    made = Made(0, began=0.0)
    for phase, seconds in spent:
        made.spend(phase, seconds)
    rank = only(made)
    start, stop = edges[0], edges[0] + edges[1]
    found = shares(rank, start, stop, bins)
    for i, phase in enumerate(PHASES):
        now, expected = 0.0, 0.0
        for name, seconds in spent:
            expected += max(0.0, min(stop, now + seconds) - max(start, now)) if name == phase else 0.0
            now += seconds
        assert found[i].sum() * (stop - start) / bins == pytest.approx(expected, abs=1e-9)
    assert (found.sum(axis=0) <= 1 + 1e-9).all()


def test_slices_inside_a_window_are_those_that_overlap_it():
    rank = only(Made(0).spend("compute", 1).spend("update", 1).spend("compute", 1))
    windows = {(0, 3): [0, 1, 2], (1, 2): [1], (0.5, 1.5): [0, 1], (3, 4): [], (2.5, 2.6): [2]}
    for window, expected in windows.items():
        assert inside(rank, *window).tolist() == expected


def test_a_slice_knows_the_operation_in_which_the_rank_was_blocked():
    trace = columns([Made(0).spend("compute", 1).call("all-reduce", 1).spend("update", 1).trace()], 1)
    rank = trace.ranks[0]
    found = operation_of(rank, np.arange(3))
    assert [trace.names[i] if i >= 0 else None for i in found] == [None, "all-reduce", None]
    assert operation_of(only(Made(0).spend("compute", 1)), np.arange(1)).tolist() == [-1]
    at_once = only(Made(0).call("words send", 0.0).spend("compute", 1))
    assert operation_of(at_once, np.arange(len(at_once.phase))).tolist() == [-1]


def test_ranks_are_aligned_at_the_start_barrier():
    early, late = Made(0, began=100.0).spend("compute", 1), Made(1, began=100.25).spend("compute", 1)
    trace = columns([late.trace(), early.trace()], 2)
    assert [rank.rank for rank in trace.ranks] == [0, 1]
    assert [float(rank.began[0]) for rank in trace.ranks] == pytest.approx([0, 0.25])
    assert trace.spread == pytest.approx(0.25)
    assert trace.span == pytest.approx(1.25)


@pytest.mark.parametrize("name", ["synchronous", "parameter server"])
def test_the_whole_of_a_run_is_what_its_journals_say(name, tmp_path):
    network = spec_of(name, "virtual").virtual
    assert network is not None
    run_virtual(RANKS, network, lambda comm: play(comm, name, tmp_path, "virtual"))
    trace = columns([read(file_of(tmp_path, rank)) for rank in range(RANKS)], RANKS)
    assert trace.simulated
    assert trace.remarks == ()
    for rank in trace.ranks:
        done = list(records(tmp_path / f"journal.{rank.rank}.jsonl"))[-1]
        found = shares(rank, 0, trace.span, 7).sum(axis=1) * trace.span / 7
        assert dict(zip(PHASES, found, strict=True)) == pytest.approx(done.phases, rel=1e-6, abs=1e-9)


def test_lockstep_is_what_it_says():
    one, two = lockstep([1.0, 3.0], [2.0, 1.0], message=0.5)
    assert (one.now, two.now) == (106.0, 106.0)
