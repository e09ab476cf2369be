"""Files of users: what agents report is what may be submitted, and it is validated by schema."""

import hashlib

import pytest
from hooke.catalogue.discovery import built_in
from hooke.spec.specification import Communication, Compute
from hooke.spec.tuning import Tuning

from tests.api.conftest import SPEC
from tests.api.databases import ONE_KIND

HASH, OTHER = hashlib.sha256(b"one").hexdigest(), hashlib.sha256(b"two").hexdigest()
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rate"],
    "properties": {
        "rate": {"type": "number", "exclusiveMinimum": 0, "title": "Rate"},
        "period": {"type": "integer", "minimum": 1, "default": 4},
        "alpha": {"anyOf": [{"type": "number", "maximum": 1}, {"type": "null"}], "default": None},
    },
}


def own(name="my-sgd", digest=HASH, **more):
    return {"name": name, "title": "Mine", "origin": "file", "hash": digest, "schema": SCHEMA, "servers": 1} | more


def mine(**parameters):
    return SPEC | {
        "variants": [{"name": "mine", "algorithm": "my-sgd", "parameters": parameters}],
        "baseline": "mine",
    }


def faults(service, document):
    answer = service.client.post("/experiments/dry-run", json=document)
    assert answer.status_code == 422, answer.text
    return {fault["pointer"]: fault["message"] for fault in answer.json()["errors"]}


def built_ins(kind):
    return [{"name": name, "hash": item.hash} for name, item in built_in(kind).items()]


@pytest.fixture
def lab(service):
    """Return a service whose cluster offers an algorithm that the API has never seen."""
    service.hello(algorithms=[*built_ins("algorithm"), own()], workloads=built_ins("workload"))
    return service


@pytest.mark.parametrize(
    ("settings", "model"), [("communication", Communication), ("compute", Compute), ("tuning", Tuning)]
)
@ONE_KIND
def test_the_list_of_algorithms_has_the_schemas_of_an_experiments_settings(service, settings, model):
    assert set(service.get("/algorithms")[settings]["properties"]) == set(model.model_fields)


@ONE_KIND
def test_an_algorithm_that_only_a_cluster_has_is_listed_and_planned(lab):
    listed = {item["name"]: item for item in lab.get("/algorithms")["items"]}
    assert (listed["my-sgd"]["origin"], listed["my-sgd"]["hash"]) == ("file", HASH)
    assert listed["my-sgd"]["offers"] == {"local": HASH}
    assert listed["my-sgd"]["parameters"] == SCHEMA
    assert listed["sync-easgd"]["origin"] == "built-in"
    assert set(listed["sync-easgd"]["offers"]) == {"local"}
    made = lab.client.post("/experiments", json=mine(rate=0.5))
    assert made.status_code == 201, made.text
    run = lab.run(lab.runs(experiment=made.json()["id"])[0]["id"])
    assert run["servers"] == 1
    assert run["spec"]["algorithm"] == {
        "name": "my-sgd",
        "parameters": {"rate": 0.5, "period": 4, "alpha": None},
        "hash": HASH,
    }
    assert run["spec"]["workload"]["hash"] is None  # built in


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({}, "rate"),
        ({"rate": 0}, "rate"),
        ({"rate": 1, "period": 1.5}, "period"),
        ({"rate": 1, "alpha": 2}, "alpha"),
        ({"rate": 1, "strange/one": 2}, "strange~1one"),
    ],
)
@ONE_KIND
def test_parameters_are_validated_by_the_schema_of_the_cluster(lab, parameters, name):
    assert set(faults(lab, mine(**parameters))) == {f"/variants/0/parameters/{name}"}


def test_every_cluster_must_offer_it(lab):
    lab.hello("bare", algorithms=built_ins("algorithm"), workloads=built_ins("workload"))
    both = [{"name": "local", "workers": [2]}, {"name": "bare", "workers": [2]}]
    told = faults(lab, mine(rate=1) | {"clusters": both})
    assert set(told) == {"/variants/0/algorithm"}
    assert told["/variants/0/algorithm"].startswith("bare offers no algorithm called 'my-sgd'")


@ONE_KIND
def test_two_clusters_with_different_sources_of_one_name(lab):
    lab.hello("other", algorithms=[*built_ins("algorithm"), own(digest=OTHER)], workloads=built_ins("workload"))
    both = [{"name": "local", "workers": [2]}, {"name": "other", "workers": [2]}]
    told = faults(lab, mine(rate=1) | {"clusters": both})
    assert "different sources" in told["/variants/0/algorithm"]
    assert f"local {HASH[:12]}, other {OTHER[:12]}" in told["/variants/0/algorithm"]
    assert lab.client.post("/experiments/dry-run", json=mine(rate=1)).status_code == 200  # one alone is clear
    listed = {item["name"]: item for item in lab.get("/algorithms")["items"]}
    assert listed["my-sgd"]["offers"] == {"local": HASH, "other": OTHER}


@ONE_KIND
def test_a_schema_that_is_none_is_a_fault_and_reaches_no_network(service):
    broken = own(schema={"properties": {"rate": {"type": "no such type"}}})
    service.hello(algorithms=[broken], workloads=built_ins("workload"))
    assert "the schema reported by its agent is invalid" in faults(service, mine(rate=1))["/variants/0"]
    remote = own(schema={"$ref": "http://127.0.0.1:9/schema.json"})
    service.hello(algorithms=[remote], workloads=built_ins("workload"))
    assert "refers to another document" in faults(service, mine(rate=1))["/variants/0"]


def test_an_unreadable_file_is_shown_and_explains_why_its_name_is_unknown(service):
    problem = {"kind": "algorithm", "name": "my_sgd", "file": "/x/my_sgd.py", "error": "SyntaxError (line 3): no"}
    service.hello(algorithms=built_ins("algorithm"), workloads=built_ins("workload"), problems=[problem])
    assert service.get("/clusters")["items"][0]["problems"] == [problem]
    told = faults(service, mine(rate=1))["/variants/0/algorithm"]
    assert "no algorithm is called 'my-sgd'" in told
    assert "/x/my_sgd.py: SyntaxError (line 3): no" in told
    service.hello(algorithms=built_ins("algorithm"), workloads=built_ins("workload"), problems=[])
    assert service.get("/clusters")["items"][0]["problems"] == []


@ONE_KIND
def test_an_own_workload_is_validated_and_its_target_may_be_unknown(service):
    service.hello(algorithms=built_ins("algorithm"), workloads=[own("mine", target=None)])
    assert [w["target"] for w in service.get("/workloads")["items"] if w["name"] == "mine"] == [None]
    document = SPEC | {"workload": {"name": "mine", "parameters": {"rate": "fast"}}}
    assert set(faults(service, document)) == {"/workload/parameters/rate"}


@pytest.mark.parametrize(
    ("declared", "field"),
    [({"updates_field": "adding"}, "adding"), ({}, "updates"), ({"updates_field": None}, "")],
)
@ONE_KIND
def test_plain_stores_are_refused_by_what_the_agent_reports(service, declared, field):
    """Earlier agents do not report which parameter it is: there it is called `updates`."""
    choice = {"enum": ["plain", "atomic", "auto"], "type": "string", "default": "auto"}
    schema = {"type": "object", "properties": {"adding": choice, "updates": choice}}
    hogwild = own(schema=schema, coordination="lock-free", servers=0) | declared
    service.hello(algorithms=[*built_ins("algorithm"), hogwild], workloads=built_ins("workload"))
    simulated = {"name": "slow", "computed_on": "local", "workers": [2], "virtual": {"latency": 1e-3}}
    document = mine(adding="plain", updates="plain") | {"clusters": [simulated]}
    if field:
        assert set(faults(service, document)) == {f"/variants/0/parameters/{field}"}
    else:
        assert service.client.post("/experiments/dry-run", json=document).status_code == 200
    safe = mine(**{field or "adding": "atomic"}) | {"clusters": [simulated]}
    assert service.client.post("/experiments/dry-run", json=safe).status_code == 200


@ONE_KIND
def test_warnings_of_a_method_are_kept_with_the_experiment(service):
    service.hello(cores=8)
    loose = [{"name": "loose", "algorithm": "sync-easgd", "parameters": {"lr": 1.0, "rho": 1.0}}]
    document = SPEC | {"variants": loose, "baseline": "loose", "on_bad_worker": "drop"}
    told = service.client.post("/experiments/dry-run", json=document).json()["warnings"]
    assert any(w["pointer"] == "/variants/0/parameters" and "with 2 workers: " in w["message"] for w in told)
    made = service.client.post("/experiments", json=document).json()
    assert made["warnings"] == told
    assert service.get(f"/experiments/{made['id']}")["warnings"] == told


@ONE_KIND
@pytest.mark.parametrize("servers", ["two", [1], 10**30, -1, None])
def test_a_number_of_servers_that_is_none_breaks_no_list_and_no_plan(service, servers):
    service.hello(algorithms=[*built_ins("algorithm"), own(servers=servers)], workloads=built_ins("workload"))
    listed = {item["name"]: item for item in service.get("/algorithms")["items"]}
    assert listed["my-sgd"]["servers"] == 0, listed["my-sgd"]
    planned = service.client.post("/experiments/dry-run", json=mine(rate=0.5))
    assert planned.status_code == 200, planned.text
    assert {run["servers"] for run in planned.json()["runs"]} == {0}


@ONE_KIND
def test_the_api_runs_no_file_of_users(lab, tmp_path, monkeypatch):
    """Its environment has the token, the address of the database and that of the broker."""
    folder, ran = tmp_path / "algorithms", tmp_path / "ran"
    folder.mkdir()
    (folder / "my_sgd.py").write_text(f"open({str(ran)!r}, 'w')")
    monkeypatch.setenv("HOOKE_PATH", str(tmp_path))
    assert "my-sgd" in {each["name"] for each in lab.get("/algorithms")["items"]}
    assert lab.client.post("/experiments/dry-run", json=mine(rate=1)).status_code == 200
    assert lab.client.post("/experiments", json=mine(rate=1)).status_code == 201
    assert not ran.exists()
