"""A swept variant over REST: it is stored as the variants that it stands for."""

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC

SWEPT = [SPEC["variants"][1], {"name": "local", "algorithm": "local-sgd", "sweep": {"period": [4, 16]}}]


@ONE_KIND
def test_an_experiment_has_the_variants_of_its_sweeps(service):
    made = service.submit(variants=SWEPT, baseline="local")
    names = ["original", "local (period 4)", "local (period 16)"]
    assert (made["variants"], made["baseline"]) == (names, "local (period 4)")
    assert [variant.get("sweep") for variant in made["spec"]["variants"]] == [None] * 3
    assert [variant["parameters"] for variant in made["spec"]["variants"]] == [{}, {"period": 4}, {"period": 16}]
    assert {run["variant"] for run in service.runs()} == set(names)


@ONE_KIND
def test_a_fault_and_a_warning_are_told_where_they_are_in_the_document(service):
    service.hello()
    wrong = [SWEPT[0], SWEPT[1] | {"sweep": {"period": [4, 0]}}]
    answer = service.client.post("/experiments/dry-run", json=SPEC | {"variants": wrong})
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/variants/1/sweep/period/1"]
    many = [SWEPT[0], SWEPT[1] | {"sweep": {"period": list(range(1, 31))}}]
    answer = service.client.post("/experiments/dry-run", json=SPEC | {"variants": many}).json()
    assert len(answer["runs"]) == 31 * 2
    told = [warning["message"] for warning in answer["warnings"] if warning["pointer"] == "/variants"]
    assert len(told) == 1
    assert "corrected for 30 comparisons" in told[0]
