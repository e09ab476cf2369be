"""How long the runs of a dry run are predicted to take."""

import pytest

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.api.queue.test_queue_service import submit, took
from tests.api.test_experiments import VIRTUAL


def predicted(service, seeds, **more):
    clusters = [{"name": "local", "workers": [2], "seeds": seeds}]
    answer = service.client.post("/experiments/dry-run", json=SPEC | ALONE | {"clusters": clusters} | more)
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["durations"]
    return found


def test_nothing_is_predicted_before_a_similar_run_has_ended(service):
    service.hello()
    nothing = dict.fromkeys(("seconds", "least", "most", "likeness"))
    assert predicted(service, 6) == {"cluster": "local", "host": "local", "runs": 6, "unlike": 6} | nothing


@ONE_KIND
def test_a_dry_run_takes_as_long_as_similar_runs_did(service):
    """Three runs took 40 s each: six more take 240 s, and those with half the budget about half of it."""
    service.hello()
    submit(service, "before", seeds=3)
    service.scheduler.look()
    took(service, 40)
    six = predicted(service, 6)
    assert (six["runs"], six["unlike"]) == (6, 0)
    assert six["seconds"] == pytest.approx(240, rel=0.1)
    assert six["least"] < 240 < six["most"]
    assert six["likeness"] == "3 runs of the same workload, algorithm, ranks, cluster, budget and target"
    half = predicted(service, 6, budget={"samples": SPEC["budget"]["samples"] // 2})
    assert half["seconds"] == pytest.approx(120, rel=0.2)
    assert half["likeness"] == "3 runs of the same workload, algorithm, ranks and cluster"
    document = SPEC | ALONE | {"clusters": [*ALONE["clusters"], VIRTUAL]}
    both = service.client.post("/experiments/dry-run", json=document).json()["durations"]
    assert [(one["cluster"], one["host"], one["unlike"]) for one in both] == [
        ("local", "local", 0),
        ("sim", "local", 5),
    ]
    submit(service, "six", seeds=6)
    (waiting,) = service.get("/clusters/local/queue")["entries"]
    assert six["seconds"] == pytest.approx(waiting["run_seconds"]), "as its queue says once it waits"


@ONE_KIND
def test_a_dry_run_says_when_it_would_start(service):
    """At once in an empty queue; behind three runs of 40 s in a full one, as the queue says once it waits."""
    document = SPEC | ALONE | {"clusters": [{"name": "local", "workers": [2], "seeds": 2}]}

    def would(**more):
        (found,) = service.client.post("/experiments/dry-run", json=document | more).json()["waiting"]
        return found

    service.hello()
    first = would()
    assert (first["cluster"], first["position"], first["experiments_ahead"], first["runs"]) == ("local", 1, 0, 2)
    assert first["starts"] is not None and first["ends"] is None, "nothing similar has run"
    submit(service, "before", seeds=3)
    service.scheduler.look()
    took(service, 40)
    submit(service, "waits", seeds=3)
    second = would()
    assert (second["experiments_ahead"], second["runs_ahead"]) == (1, 3)
    assert second["reason"] == "behind 1 experiment (3 runs)"
    service.client.post("/experiments", json=document | {"name": "then"}).raise_for_status()
    then = next(each for each in service.get("/clusters/local/queue")["entries"] if each["name"] == "then")
    assert [second[name]["at"][:16] for name in ("starts", "ends")] == [
        then[name]["at"][:16] for name in ("starts", "ends")
    ]
