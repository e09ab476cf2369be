"""When entries of the comparison on unequal workers are told apart, by hand."""

import math

import pytest
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict

from benchmarks.common import records as kept
from benchmarks.unequal import __main__ as command
from benchmarks.unequal import choosing, claims, findings, short
from benchmarks.unequal.entries import FASTEST, SPLIT, STATIC, SYNC
from benchmarks.unequal.findings import found_in
from benchmarks.unequal.runs import Run, run_of
from tests.evidence.test_unequal import complete, made, record

CELL = ("digits", "ratio-4")
SPREAD = (3.0, 8.0, 20.0)


def test_a_time_lies_between_two_evaluations_whose_clocks_are_rounded():
    """The last point of a curve may be rounded down: it is not an evaluation before the target."""
    run = Run(*CELL, SYNC, 0, 1)
    found = record(run, 1.23456, curve=[[0, 2.0], [1.2, 0.5], [1.2345, 0.4]])
    assert claims.crossing(found) == Crossing(1.2, 1.23456)
    assert claims.crossing(record(run, None, clock=9.0)) == Crossing(9.0, None)
    assert claims.crossing(record(run, None, diverged=True)).diverged


def test_what_identical_methods_differ_by_is_noise():
    """Ratios 1.5, 1, 1: t of 3 degrees of freedom is 3.182, and the root mean square log(1.5) / sqrt(3)."""
    records = complete("equal", seconds=(3, 3, 3)) | complete("jitter", seconds=(3, 3, 3))
    records |= complete("ratio-1", seconds=(3, 3, 3)) | made(SPLIT, (2, 2, 2), condition="ratio-1")
    assert {cell for cell in claims.identical(records)} == {
        ("digits", each) for each in ("equal", "jitter", "ratio-1")
    }
    assert claims.noise(records) == pytest.approx(math.exp(3.182 * math.log(1.5) / math.sqrt(3)), rel=1e-3)
    assert "differ by up to 1.50x" in short.null(records)
    assert claims.noise({}) == 1


@pytest.mark.parametrize(
    ("found", "way"),
    [
        (Verdict("faster", 2.5, 1.2, 5.0, 3), 1),
        (Verdict("faster", 1.9, 1.2, 3.0, 3), 0),
        (Verdict("slower", 0.4, 0.2, 0.8, 3), -1),
        (Verdict("not shown", 3.0, 0.9, 10.0, 3), 0),
        (Verdict("at least", 9.0, 1.5, None, 3), 0),
        (Verdict("at most", 0.1, None, 0.4, 3), -1),
    ],
)
def test_a_difference_is_one_of_the_rule_and_larger_than_the_noise(found, way):
    assert claims.apart(found, 2.0) == way


def test_the_published_null_pairs_are_not_told_apart():
    """What the page said before: Weighted Sync SGD was `faster by a third` than Sync SGD, which it is there."""
    records = kept.read(command.DATA, run_of)
    pairs, noisy = claims.identical(records), claims.noise(records)
    assert len(pairs) >= 6
    assert any(each.claim in claims.WAYS for each in pairs.values()), "by the rule alone some are"
    assert not any(claims.apart(each, noisy) for each in pairs.values())


def test_the_first_entry_is_ahead_only_if_it_is_told_apart_from_all():
    records = complete("ratio-4", seconds=SPREAD) | made(STATIC, (1, 1, 1))
    assert claims.ahead_of_all(records, CELL, 2.0) is None, "28 pairs of three seeds are too many"
    fine = complete("ratio-4", seconds=(8.0, 8.01, 8.0)) | made(STATIC, (1, 1, 1))
    assert claims.ahead_of_all(fine, CELL, 2.0) == STATIC
    assert claims.ahead_of_all(fine, CELL, 9.0) is None


def test_the_page_begins_with_what_to_take_on_unequal_nodes():
    """By hand: one method at an eighth of the time on both clusters of eight; on two nodes the fast one alone."""
    fine, eighth = (8.0, 8.01, 8.0), (1.0, 1.0, 1.0)
    many: dict = {}
    for at in ("one-slow", "spread"):
        many |= complete(at, seconds=fine) | made("Async SGD", eighth, condition=at)
    told = choosing.choice(many, 2.0)
    assert told.startswith("On 8 nodes of unequal speed (*one of 8 at a quarter* and *from 1 to a quarter*; simul")
    assert told.count("Async SGD 8.0x (") == 1 and "and 8.0x (" in told and "Adaptive" not in told
    assert "which of these" not in told, "it is one"
    both = choosing.choice(many | made("Adaptive SGD", eighth, condition="spread"), 2.0)
    assert "Adaptive" not in both, "in one of the two clusters alone"
    for at in ("one-slow", "spread"):
        many |= made("Adaptive SGD", eighth, condition=at)
    assert choosing.choice(many, 2.0).endswith("; which of these is the fastest is not shown.")
    two = complete("ratio-4", seconds=fine) | made(FASTEST, eighth)
    two |= complete("real-2", task="a9a-wide", seconds=fine) | complete("ratio-1", seconds=fine)
    told = choosing.choice(two, 2.0)
    assert "one 2 to 4 times as fast as the other (digits and a9a-wide; simulated in 1 cells, real in 1)" in told
    assert told.endswith("in 0 of 2, and one or more as slower in 1: that adding the slow node pays is not shown.")


def test_whether_a_slower_worker_pays_counts_who_is_told_apart():
    """By hand: one method at an eighth of the time; then all at twice; who runs alone does not count."""
    fine = (8.0, 8.01, 8.0)
    records = complete("ratio-4", seconds=fine) | made("Async SGD", (1, 1, 1))
    records |= complete("ratio-2", seconds=fine)
    records |= complete("v100", seconds=(32.0, 32.01, 32.0)) | made(FASTEST, fine, condition="v100")
    pairs = found_in(records, "cpus", "box")
    told = short.paying(records, pairs[:2], 2.0)
    assert told.startswith("a method is faster in 1 of 2, all are slower in 0, open in the rest")
    assert "to 1.37x" in told, "the root of 1.5 times 1.25"
    assert "faster in 0 of 1, all are slower in 1," in short.paying(records, pairs[2:], 2.0)


def test_a_wait_that_was_measured_before_ranks_were_woken_says_so_and_others_how_often_and_where():
    costs = {"share-1": 0.03, "share-8": 0.004, "decision": 2e-6, "ask": 284e-6}
    told = findings.dispatch(costs)
    assert "waits 284 us (measured once, before the sender of a word woke who waits for it (" in told
    costs |= {"ask-least": 41e-6, "ask": 52e-6, "ask-most": 77e-6, "load": 0.1, "machine": "a machine, 2 cores"}
    told = findings.dispatch(costs)
    assert told.endswith("waits 52 us (median of 5 runs, 41 to 77, a machine, 2 cores)")
    ranges = {"range-least": 4.1e-6, "range": 5.25e-6, "range-most": 7e-6}
    assert findings.dispatch(costs | ranges).endswith("2 cores); by default one waits 5.25 us (4.1 to 7)")
    told = findings.dispatch(costs | {"load": 3.5})
    assert told.endswith("a machine, 2 cores, beside other work (load 3.5))")
