"""The answer in a line: the same claim as the verdict of its place, and nothing more."""

from dataclasses import replace

import pytest
from hooke.comparison.effort import Effort
from hooke.comparison.headline import headlines
from hooke.comparison.report import report
from hooke.spec.states import RunState
from hooke.spec.tuning import Tuning

from tests.engine.comparison.test_fastest import BASE, HALF, NOISY, SLOW, TARGET, runs


def lines(found, target=TARGET, ended=False):
    return headlines(report(found, "base", target, Effort()), "base", target is not None, ended)


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ({"half": HALF}, r"Fastest on local: half, 2.0× ("),
        ({"half": HALF, "noisy": NOISY, "slow": SLOW}, "not separated from noisy"),
        ({"slow": SLOW}, "Fastest on local: base, the baseline"),
        ({"half": HALF[:2]}, "No verdict on local: needs 3 finished seed pairs, has 2"),
        ({}, "No verdict on local: nothing to compare with base"),
        ({"half": [*HALF[:4], None]}, "local: half"),
        ({"noisy": [9.0, 12.5, 9.5, 12.0, 10.0]}, "Inconclusive on local: noisy 1.0× ("),
    ],
)
def test_the_line_of_a_place(times, line):
    (found,) = lines(runs(base=BASE, **times))
    assert line in found


def test_several_places_are_told_apart_and_those_that_go_on_are_marked():
    here = runs(base=BASE, half=HALF)
    wide = [replace(run, workers=4) for run in here]
    there = [replace(run, cluster="10gbe") for run in here]
    there[-1] = replace(there[-1], state=RunState.RUNNING, time_to_target=None, target_after=None)
    found = lines([*here, *wide, *there])
    assert [line.partition(": ")[0] for line in found] == [
        "Fastest on local (2 workers)",
        "Fastest on local (4 workers)",
        "Fastest so far on 10gbe",
    ]
    assert lines(there, ended=True)[0].startswith("Fastest on 10gbe: "), "its last run was cancelled"


def test_a_variant_that_is_not_compared_is_not_left_out_in_silence():
    """As one of whose trials one was cancelled: it may be the fastest, and the line names another one."""
    made = {(name, "local", 2): 8 - (name == "rival") for name in ("base", "half", "rival")}
    effort = Effort(Tuning(trials=8), tuple(name for name, *_ in made), made=made)
    found = runs(base=BASE, half=HALF, rival=[time / 3 for time in BASE])
    (line,) = headlines(report(found, "base", TARGET, effort), "base", True, True)
    assert line.startswith("Fastest on local: half, 2.0× (")
    assert line.endswith(", no claim on rival")
    going = [*found[:-1], replace(found[-1], state=RunState.RUNNING, time_to_target=None, target_after=None)]
    (line,) = headlines(report(going, "base", TARGET, effort), "base", True, False)
    assert "no claim" not in line, "it will have one"


def test_a_simulated_place_is_named_as_such():
    found = lines([replace(run, simulated=True) for run in runs(base=BASE, half=HALF)])
    assert found[0].startswith("Fastest on local, simulated: half, 2.0× (")


def test_without_a_baseline_or_a_target_nothing_is_claimed():
    assert lines(runs(half=HALF)) == ["No verdict on local: base, the baseline, did not run here"]
    assert lines(runs(base=BASE, half=HALF), None) == ["No target: final figures on local"]
