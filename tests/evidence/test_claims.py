"""What is said of two methods: by the one rule of verdict, and nothing where a loser may have a better rate."""

import numpy as np
import pytest
from hooke.catalogue.algorithm import servers_of
from hooke.catalogue.validation import validate_run
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare, holm
from hooke.loop.train import run_spec_virtual

from benchmarks.evidence import codesign, replication, replication_page
from benchmarks.evidence.claim import (
    EDGE,
    UNSTABLE,
    UNTRIED,
    Claim,
    Paper,
    beside_paper,
    crossing,
    findings,
    ratio,
    said,
)
from benchmarks.evidence.matrix import FULL
from benchmarks.evidence.methods import BEST, METHODS, PAIRS, seldom
from benchmarks.evidence.records import collect
from benchmarks.evidence.view import View
from tests.evidence.storing import RECORDED, method

ELASTIC, PLAIN = (pair.label for pair in PAIRS[0])
CLAIM = Claim("one over the other", (ELASTIC,), (PLAIN,))
INSIDE = {-1: 300.0, 0: 100.0, 1: None}
SEEDS = range(3)


def view_of(*runs) -> View:
    everything = {key: run for some in runs for key, run in some.items()}
    return View(FULL, collect(everything, RECORDED["sessions"]))


def found(*runs, claim=CLAIM):
    (finding,) = findings(view_of(*runs), [(claim, "8-hosts")])
    return finding


def side(label, seconds, rates=INSIDE):
    return method("8-hosts", label, {seed: seconds and seconds + seed for seed in SEEDS}, rates)


def test_the_rule_is_that_of_the_product():
    """A claim hands over what the runs say: crossings between two evaluations, by seed."""
    runs = side(ELASTIC, 50.0), side(PLAIN, 100.0)
    told = found(*runs)
    expected = compare(*({n: Crossing(0.95 * (s + n), s + n) for n in SEEDS} for s in (100.0, 50.0)))
    assert told.verdict == holm({0: expected})[0]
    assert said(told) == "faster"
    assert told.open == ""
    assert len(told.keys) == 6


def test_a_loser_at_the_edge_of_its_grid_gives_no_verdict():
    edge = dict.fromkeys(range(0, 6), 200.0) | {k: 200.0 - k for k in range(6)}
    told = found(side(ELASTIC, 50.0), side(PLAIN, 100.0, edge))
    assert told.verdict.claim == "faster", "by the figures alone"
    assert said(told) == told.open == EDGE


def test_a_loser_whose_rate_does_not_hold_with_other_seeds_gives_no_verdict():
    """The tuning seed bore it; a smaller one might have done for all."""
    unstable = method("8-hosts", PLAIN, {0: 100.0, 1: 101.0, 2: None}, INSIDE)
    told = found(side(ELASTIC, 50.0), unstable)
    assert told.verdict.diverged_by_baseline == 1
    assert said(told) == told.open == UNSTABLE
    assert said(found(side(ELASTIC, 50.0), method("8-hosts", PLAIN, dict.fromkeys(SEEDS), INSIDE))) == UNSTABLE


def test_a_winner_at_the_edge_of_its_grid_may_only_be_better_still():
    edge = {k: 200.0 - k for k in range(6)}
    assert said(found(side(ELASTIC, 50.0, edge), side(PLAIN, 100.0))) == "faster"
    assert said(found(side(ELASTIC, 100.0, edge), side(PLAIN, 50.0))) == EDGE


def test_a_difference_that_is_not_shown_may_be_one_at_a_better_rate():
    edge = {k: 200.0 - k for k in range(6)}
    for one, other in ((edge, INSIDE), (INSIDE, edge)):
        told = found(side(ELASTIC, 100.0, one), side(PLAIN, 101.0, other))
        assert told.verdict.claim in ("not shown", "same")
        assert said(told) == EDGE


def test_a_method_that_diverged_everywhere_loses_nothing():
    """It was given no rate at which it converges, or the ladder has none: nobody is infinitely faster."""
    nowhere = dict.fromkeys(range(-6, 1))
    told = found(side(ELASTIC, 50.0), side(PLAIN, None, nowhere))
    assert said(told) == EDGE
    assert "∞" not in ratio(told.verdict)


def test_a_search_that_is_not_over_leaves_it_open():
    assert said(found(side(ELASTIC, 50.0), side(PLAIN, 100.0, {0: 100.0, 1: None}))) == UNTRIED


def test_a_seed_that_diverged_at_a_rate_inside_the_grid_never_meets_the_target():
    runs = method("8-hosts", PLAIN, {0: 100.0, 1: None, 2: 102.0}, INSIDE)
    told = found(side(ELASTIC, 10.0), runs)
    assert told.verdict.missed_by_baseline == told.verdict.diverged_by_baseline == 1
    assert told.verdict.high is None
    assert ratio(told.verdict).startswith("≥ ")


def test_each_of_two_methods_is_compared_at_its_better_period():
    claim = next(c for c in replication.ASYNCHRONOUS if c.what.endswith("better period") and ELASTIC in c.variant)
    late = seldom(PAIRS[0][0]).label, seldom(PAIRS[0][1]).label
    runs = (
        side(ELASTIC, 100.0, {-1: 300.0, 0: 95.0, 1: None}),
        side(late[0], 20.0, {-1: 300.0, 0: 21.0, 1: None}),
        side(PLAIN, 60.0, {-1: 300.0, 0: 61.0, 1: None}),
        side(late[1], 50.0, {-1: 300.0, 0: 70.0, 1: None}),
    )
    told = found(*runs, claim=claim)
    assert told.verdict.ratio == pytest.approx(np.prod([(60 + n) / (20 + n) for n in SEEDS]) ** (1 / 3))
    assert found(*runs[:3], claim=claim).verdict is None, "the fourth might have been the better one"
    at_edge = side(late[1], 50.0, {k: 200.0 - k for k in range(6)})
    assert said(found(*runs[:3], at_edge, claim=claim)) == EDGE, "the loser's other period may have a better rate"


def test_verdicts_are_corrected_for_the_comparisons_of_a_page():
    runs = side(ELASTIC, 50.0), side(PLAIN, 100.0), side("Async MSGD", 100.0), side("Async MEASGD", 99.0)
    asked = [(CLAIM, "8-hosts"), (Claim("another", ("Async MEASGD",), ("Async MSGD",)), "8-hosts")]
    told = findings(view_of(*runs), asked)
    assert [f.verdict.comparisons for f in told] == [2, 2]
    assert told[0].verdict.p_adjusted == 2 * told[0].verdict.p


def test_a_crossing_lies_between_two_evaluations():
    evidence = view_of(side(ELASTIC, 50.0)).evidence
    run = next(r for r in evidence.runs.values() if r.kind == "target" and r.seed == 0)
    assert crossing(run, evidence.curves[run.key]) == Crossing(pytest.approx(47.5), 50.0)
    lost = next(r for r in view_of(side(PLAIN, None)).evidence.runs.values() if r.kind == "target")
    assert crossing(lost, ()) == Crossing(0.0, None, diverged=True)


def test_a_run_that_was_cut_off_before_its_first_step_is_no_pair():
    runs = side(PLAIN, 100.0)
    key = next(key for key, run in runs.items() if (run["cell"]["kind"], run["cell"]["seed"]) == ("target", 1))
    nothing = {"state": "timed_out", "diverged": False, "train_seconds": 0.0, "time_to_target": None}
    runs[key] = runs[key] | {"result": runs[key]["result"] | nothing}
    told = found(side(ELASTIC, 50.0), runs)
    assert told.verdict.pairs == 2
    assert said(told) == "no claim"


def test_a_figure_of_the_paper_is_said_to_lie_beside_the_interval():
    verdict = compare(*({n: Crossing(0.95 * (s + n), s + n) for n in SEEDS} for s in (100.0, 50.0)))
    assert beside_paper(verdict, Paper("", "abstract", 5.3)) == "below 5.3x"
    assert beside_paper(verdict, Paper("", "abstract", 1.1)) == "above 1.1x"
    assert beside_paper(verdict, Paper("", "abstract", 2.0)) == "includes 2x"
    assert beside_paper(verdict, Paper("faster", "abstract")) == beside_paper(verdict, None) == ""


def test_no_figure_of_the_paper_stands_beside_a_method_that_is_not_the_paper_s():
    quoted = [claim for claim in replication.CLAIMS if claim.paper]
    assert len(quoted) > 5
    for claim in quoted:
        about = claim.methods[: len(claim.variant)] if claim.pace else claim.methods
        assert all(method.published for method in about), claim.what
    assert all(METHODS[label].published for label in replication.EXPOSED)
    assert not any(claim.paper for claim in codesign.CLAIMS)
    for label in (BEST.label, seldom(PAIRS[0][0]).label, "PyTorch DDP"):
        with pytest.raises(ValueError, match="does not refer to these methods"):
            Claim("5.3 times as fast", (label,), ("Original EASGD, ordered",), Paper("5.3x", "abstract", 5.3))


@pytest.mark.parametrize("label", [label for label, method in METHODS.items() if method.tuned_as])
def test_methods_that_share_a_search_have_the_same_bits(label):
    """As the engine runs them, on another workload: whatever rate is best for the one is for the other."""
    one, other = (_weights(METHODS[x]) for x in (label, METHODS[label].tuned_as))
    for mine, its in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, its)


def _weights(tried):
    parameters = {**tried.parameters, "lr": 0.05}
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": tried.name, "parameters": parameters},
        "communication": dict(tried.communication),
        "batch": 8,
        "workers": 4,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": 40 * 8 * 4},
        "evaluation": {"every": 10**6},
    }
    spec = validate_run(document)
    outcomes = run_spec_virtual(spec)
    center = outcomes[-1].weights if servers_of(spec) else outcomes[0].center
    return [outcome.weights for outcome in outcomes[:4]] + [center]


def test_the_page_shows_no_infinity_and_no_claim_of_a_target_met(pages):
    for page in pages.glob("*.md"):
        text = page.read_text()
        assert "∞" not in text
        assert "target met" not in text
    assert replication_page.RULE in (pages / "replication.md").read_text()
