"""What `hooke verdict` prints of searches: before they have ended, and where trials were cancelled."""

import io

import pytest
from hooke.cli.verdict import show_choices
from rich.console import Console

SEARCH = {
    "variant": "sgd",
    "cluster": "local",
    "simulated": True,
    "workers": 1,
    "spaces": {},
    "ended": True,
    "edges": {},
    "median_seconds": None,
    "samples": 4000,
    "core_hours": 0.5,
}


def trial(seconds=None, **changes):
    return {"seconds": seconds, "rank": 1, "failed": 0, "chosen": False, "parameters": {"lr": 0.1}} | changes


def printed(*trials, **changes):
    text = io.StringIO()
    search = SEARCH | {"trials": list(trials)} | changes
    show_choices(Console(file=text, width=200), {"searches": [search]})
    return " ".join(text.getvalue().split())


LOST = {"failed": 1}


@pytest.mark.parametrize(
    ("trials", "reached", "told"),
    [
        ([trial(3.0), trial(5.0), trial(), trial()], 2 / 4, "1 50% of trials missed"),
        ([trial(3.0), trial(5.0), trial(), trial(**LOST)], 2 / 3, "1 67% of trials missed"),
        ([trial(3.0), trial(rank=None)], 1.0, "1 100% of trials missed"),
        ([trial(), trial()], 0.0, "1 0% of trials missed"),
        ([trial(), trial(**LOST)], 0.0, "1 0% of trials missed"),
        ([trial(**LOST), trial(**LOST)], None, "1 - - 4,000"),
    ],
)
def test_a_share_is_told_as_one_of_trials(trials, reached, told):
    """Those that a person cancelled, or that have no result yet, are not among them."""
    assert f" sgd local {told} " in printed(*trials, reached=reached)


def test_a_setting_that_is_not_chosen_yet_is_not_told_as_none():
    assert printed(trial(), reached=0.0).endswith("Chosen for sgd on local, 1 worker: none")
    assert printed(trial(), reached=0.0, ended=False).endswith("Chosen for sgd on local, 1 worker: none yet")
    assert printed(trial(chosen=True), reached=0.0, workers=2).endswith("on local, 2 workers: lr 0.1")
