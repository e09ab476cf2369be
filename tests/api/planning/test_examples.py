"""The experiments in examples/, which the dashboard's form offers to start from, as the API judges them."""

from pathlib import Path

import pytest
from hooke.cli.document import read

from tests.api.databases import ONE_KIND

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

RUNS = {
    "comparison": 5 * 7 + 5 * 5,
    "tuned": 5 * 5,
    "local-sgd-periods": 6 * 5,
    "unequal-workers": 6 * 5,
    "output-layers": 4 * 3,
}
"""Name of each file -> its reported runs: variants, with those of sweeps, times seeds."""
ASSUMED = {"unequal-workers": ["/clusters/0/virtual/compute_seconds_per_sample"]}
"""Name of a file -> what in it is an assumption, of which the API warns."""


def test_no_experiment_is_left_out():
    documents = {path.stem: read(path) for path in EXAMPLES.glob("*.yaml")}
    assert {name for name, each in documents.items() if each["schema"] == "hooke.experiment/1"} == set(RUNS)


@ONE_KIND
@pytest.mark.parametrize("name", RUNS)
def test_it_is_accepted_and_warned_of_assumptions_only(service, name):
    service.hello(cores=8)
    document = read(EXAMPLES / f"{name}.yaml")
    answer = service.client.post("/experiments/dry-run", json=document)
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert plan["reported_runs"] == RUNS[name]
    assert (plan["trial_runs"] > 0) == ("tuning" in document)
    assert [warning["pointer"] for warning in plan["warnings"]] == ASSUMED.get(name, [])
