"""Memory of planned runs: what a dry run tells, and the warning where a host has less."""

from hooke.catalogue.footprint import footprint
from hooke.spec.specification import RunSpec

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.api.test_experiments import VIRTUAL

pytestmark = ONE_KIND
WIDE = {"workload": {"name": "digits-mlp", "parameters": {"hidden1": 8192, "hidden2": 8192}}}


def dry_run(service, **changes):
    answer = service.client.post("/experiments/dry-run", json=SPEC | ALONE | changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


def about_memory(plan):
    return [each["pointer"] for each in plan["warnings"] if "of memory" in each["message"]]


def test_the_largest_run_of_each_cluster_is_told(service):
    service.hello(hardware={"memory_bytes": 8 * 2**30})
    clusters = [{"name": "local", "workers": [1, 4], "seeds": 2}, VIRTUAL | {"computed_on": "local"}]
    plan = dry_run(service, clusters=clusters)
    real, simulated = plan["memory"]
    assert (real["cluster"], real["workers"], real["processes"]) == ("local", 4, 4)
    assert (simulated["cluster"], simulated["processes"]) == (VIRTUAL["name"], 1)
    assert real["available"] == simulated["available"] == 8 * 2**30
    for each in plan["memory"]:
        assert each["bytes"] == sum(each[part] for part in ("program", "data", "vectors", "activations"))
    made = service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters}).json()
    runs = [service.run(run["id"]) for run in service.runs(experiment=made["id"])]
    for each, own in zip(plan["memory"], ("local", VIRTUAL["name"]), strict=True):
        found = [footprint(RunSpec.model_validate(run["spec"]), 0) for run in runs if run["cluster"] == own]
        assert each["bytes"] == max(one.total for one in found)


def test_a_host_with_less_memory_is_warned_of(service):
    service.hello(hardware={"memory_bytes": 4 * 2**30})
    assert about_memory(dry_run(service)) == []
    plan = dry_run(service, **WIDE, clusters=[{"name": "local", "workers": [4], "seeds": 1}])
    assert about_memory(plan) == ["/clusters/0/workers"]
    assert plan["memory"][0]["bytes"] > 4 * 2**30
    service.hello(hardware={"memory_bytes": 64 * 2**30})
    assert about_memory(dry_run(service, **WIDE)) == []


def test_what_is_not_known_is_not_compared(service):
    service.hello()
    assert dry_run(service)["memory"][0]["available"] is None
    service.hello("lab", launcher="slurm", hardware={"memory_bytes": 2**20})
    plan = dry_run(service, **WIDE, clusters=[{"name": "lab", "workers": [2], "seeds": 1}])
    assert (plan["memory"][0]["available"], about_memory(plan)) == (None, [])
    other = {"workload": {"name": "xmlc-mlp", "parameters": {"data": "other"}}, "target": None}
    (told,) = dry_run(service, **other)["memory"]
    assert (told["bytes"], told["variant"], told["cluster"]) == (None, None, "local")
