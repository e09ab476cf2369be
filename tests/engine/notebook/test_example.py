"""The example that a reader meets first: three methods of the catalogue, tuned alike, in ten lines."""

import hooke
import pytest

from tests.engine.notebook.data import GIVEN

METHODS = {"slowmo": {"period": 16}, "diloco": {}, "sync-easgd3": {}}
SMALL = {"samples": 1_600, "evaluate_every": 160, "trial_samples": 640, "batch": 4, "seconds_per_sample": 2e-5}
"""What makes it cheap; all else is as in the example."""


@pytest.fixture(scope="module")
def r():
    return hooke.compare(
        **GIVEN,
        **SMALL,
        target=0.7,
        workers=8,
        seeds=3,
        trials=2,
        methods=METHODS,
        network=hooke.Network("1Gb/s"),
        progress=False,
    )


def test_every_method_has_its_trials_and_fresh_seeds(r):
    assert r.complete
    assert r.verdict.splitlines()
    assert "2 trials" in r.verdict
    assert list(r.table.index) == list(METHODS)
    assert (r.table.runs == 3).all()
    assert (r.searches.trials == 2).all()
    trials = {run.figures.seed for run in r.runs if run.figures.rung is not None}
    assert trials.isdisjoint(run.figures.seed for run in r.runs if run.figures.rung is None)
    assert r.settings["slowmo"]["period"] == 16, "a given value is not searched"
    assert {run.spec.workers for run in r.runs} == {8}


def test_it_is_drawn_saved_and_tells_the_same_again(r, tmp_path):
    (axes,) = r.plot().axes
    assert {text.get_text() for text in axes.get_legend().get_texts()} >= set(METHODS)
    again = hooke.load(r.save(tmp_path / "kept"))
    assert (again.verdict, again.settings) == (r.verdict, r.settings)
