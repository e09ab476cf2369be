"""Experiments over real HTTP: what is stored, what is refused, and that refusals store nothing."""

import copy
import json
import math
import socket
import threading

import httpx
import pytest
from hooke_api.models import Event, Experiment, Run, Transition
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.hands import HELLO, SPEC
from tests.waiting import wait_for

VIRTUAL = {"name": "sim", "computed_on": "local", "virtual": {}, "workers": [8], "seeds": 5}


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    return body


def pointers(answer):
    return {fault["pointer"] for fault in problem(answer, 422)["errors"]}


def assert_nothing_stored(service):
    assert [service.count(model) for model in (Experiment, Run, Transition)] == [0, 0, 0]
    assert service.get("/livez") == {"live": True}


@ONE_KIND
def test_dry_run_lists_the_runs_and_stores_nothing(service):
    service.hello(cores=2)
    document = SPEC | {"clusters": [{"name": "local", "seeds": 2}, VIRTUAL]}
    answer = service.client.post("/experiments/dry-run", json=document)
    assert answer.status_code == 200, answer.text
    runs = answer.json()["runs"]
    assert len(runs) == 2 * 2 + 2 * 5
    first = runs[0]
    assert (first["variant"], first["cluster"], first["workers"], first["seed"]) == ("sync", "local", 2, 0)
    assert [(r["host"], r["simulated"], r["servers"]) for r in runs[-2:]] == [
        ("local", True, 0),
        ("local", True, 1),
    ]
    assert len({run["fingerprint"] for run in runs}) == len(runs)
    told = {warning["pointer"]: warning["message"] for warning in answer.json()["warnings"]}
    assert "2 seeds" in told["/clusters/0/seeds"]  # fewer than 3 pairs
    assert "3 ranks on 2 cores" in told["/clusters/0/workers"]  # 2 workers and the server of original-easgd
    assert_nothing_stored(service)


@pytest.mark.parametrize(
    ("compute", "hardware", "warned"),
    [
        ({"precision": "bf16"}, {"cpu": "old", "cpu_bf16": "emulated"}, True),
        ({"precision": "bf16"}, {"cpu": "new", "cpu_bf16": "vectors"}, False),
        ({"precision": "bf16"}, {"cpu": "of an agent that does not say"}, False),
        ({"precision": "bf16", "device": "cuda"}, {"cpu_bf16": "emulated"}, False),
        ({"precision": "fp32"}, {"cpu_bf16": "emulated"}, False),
    ],
)
@ONE_KIND
def test_a_precision_that_is_emulated_is_warned_of(service, compute, hardware, warned):
    service.hello(cores=8, hardware=hardware)
    clusters = [{"name": "local", "seeds": 3}, VIRTUAL]
    answer = service.client.post("/experiments/dry-run", json=SPEC | {"compute": compute, "clusters": clusters})
    told = {warning["pointer"]: warning["message"] for warning in answer.json()["warnings"]}
    assert told.get("/compute/precision", "").startswith("The processors of local have no instructions") == warned


def lasting(view):
    """Return a response without what is predicted anew with every request."""
    return {name: value for name, value in view.items() if name != "waiting"}


@ONE_KIND
def test_create_stores_experiment_runs_transitions_and_event(service):
    made = service.submit(clusters=[{"name": "local", "workers": [2], "seeds": 2}, VIRTUAL])
    assert made["state"] == "queued"
    assert made["runs"] == {"queued": 14}
    assert made["number"] == 1
    assert made["spec"]["schema"] == "hooke.experiment/1"
    assert lasting(service.get(f"/experiments/{made['id']}")) == lasting(made)
    runs = service.runs(experiment=made["id"])
    assert [run["number"] for run in runs] == list(range(1, 15))
    assert [run["id"] for run in runs] == sorted(run["id"] for run in runs)
    assert service.count(Transition) == 14
    whole = service.run(runs[0]["id"])
    assert whole["spec"]["schema"] == "hooke.run/1"
    assert [(t["source"], t["state"]) for t in whole["history"]] == [(None, "queued")]
    with service.database.read() as session:
        events = session.scalars(select(Event).order_by(Event.position)).all()
    assert [(e.position, e.kind, e.data) for e in events] == [
        (1, "clusters", {}),
        (2, "experiment", {"id": made["id"]}),
    ]


@ONE_KIND
def test_create_answers_with_its_address(service):
    service.hello()
    answer = service.client.post("/experiments", json=SPEC)
    assert answer.headers["location"] == f"/api/v1/experiments/{answer.json()['id']}"


def changed(**changes):
    return SPEC | changes


def variant(**changes):
    return changed(variants=[SPEC["variants"][0] | changes, SPEC["variants"][1]])


def cluster(**changes):
    return changed(clusters=[SPEC["clusters"][0] | changes])


FAULTS = {
    "unknown algorithm": (variant(algorithm="no-such"), "/variants/0/algorithm"),
    "rho below zero": (variant(parameters={"rho": -1}), "/variants/0/parameters/rho"),
    "rho NaN": (variant(parameters={"rho": math.nan}), "/variants/0/parameters/rho"),
    "infinite": (variant(parameters={"rho": math.inf}), "/variants/0/parameters/rho"),
    "unknown parameter": (variant(parameters={"rhoo": 1}), "/variants/0/parameters/rhoo"),
    "no workers": (cluster(workers=[0]), "/clusters/0/workers/0"),
    "10,000 seeds": (cluster(seeds=10_000), "/clusters/0/seeds"),
    "too many runs": (
        changed(clusters=[{"name": "local", "workers": list(range(1, 16)), "seeds": 100}]),
        "/clusters",
    ),
    "unknown cluster": (cluster(name="moon"), "/clusters/0/name"),
    "unknown workload": (changed(workload={"name": "no-such"}), "/workload/name"),
    "unknown baseline": (changed(baseline="nobody"), "/baseline"),
    "same name twice": (changed(variants=[SPEC["variants"][0]] * 2, baseline="sync"), "/variants/1/name"),
    "NaN budget": (changed(budget={"samples": math.nan}), "/budget/samples"),
    "NaN target": (changed(target={"value": math.nan}), "/target/value"),
    "no variants": (changed(variants=[]), "/variants"),
    "unknown field": (changed(colour="red"), "/colour"),
    "no name": ({key: value for key, value in SPEC.items() if key != "name"}, "/name"),
    "zero byte": (changed(description="a\0b"), "/description"),
    "half a surrogate": (changed(description="a\ud800b"), "/description"),
    "odd parameter name": (variant(parameters={"a\ud800": 1}), "/variants/0/parameters"),
    "a list": ([SPEC], ""),
    "null": (None, ""),
    "huge number": (changed(budget={"samples": 10**400}), "/budget/samples"),
}


BAD = {"lr": -1}


@pytest.mark.parametrize("path", ["/experiments", "/experiments/dry-run"])
@ONE_KIND
def test_faults_have_pointers_and_store_nothing(service, path):
    service.hello()
    for name, (document, pointer) in FAULTS.items():
        body = json.dumps(document).encode()
        answer = service.client.post(path, content=body, headers={"content-type": "application/json"})
        assert pointer in pointers(answer), name
    assert_nothing_stored(service)


@ONE_KIND
def test_faults_of_the_form_are_told_with_all_others(service):
    service.hello()
    document = SPEC | {
        "budget": {"samples": 0},
        "colour": "red",
        "clusters": [{"name": "nowhere", "workers": [0, 2]}],
        "variants": [
            {"name": "a", "algorithm": "nope"},
            {"name": "b", "algorithm": "sync-easgd", "parameters": BAD},
        ],
        "baseline": "b",
        "target": {"value": 3},
    }
    assert pointers(service.client.post("/experiments/dry-run", json=document)) == {
        "/budget/samples",
        "/colour",
        "/clusters/0/workers/0",
        "/clusters/0/name",
        "/variants/0/algorithm",
        "/variants/1/parameters/lr",
        "/target/value",
    }


NOT_JSON = [b"", b"{", b"not json", b'{"a":1}}', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000]


@ONE_KIND
def test_not_json_or_too_deep_is_refused_and_stores_nothing(service):
    for body in NOT_JSON:
        answer = service.client.post("/experiments", content=body, headers={"content-type": "application/json"})
        problem(answer, answer.status_code)
        assert answer.status_code in (400, 413, 422), body[:20]
    assert_nothing_stored(service)


@ONE_KIND
def test_not_json_is_400(service):
    problem(service.client.post("/experiments", content=b"{", headers={"content-type": "application/json"}), 400)


@ONE_KIND
def test_fifty_megabytes_are_refused_before_they_are_read(service):
    problem(service.client.post("/experiments", content=b"x" * 50_000_000), 413)
    assert_nothing_stored(service)


@ONE_KIND
def test_fifty_megabytes_in_pieces_are_refused(service):
    def pieces():
        for _ in range(50):
            yield b" " * 1_000_000

    try:
        answer = service.client.post("/experiments", content=pieces())
    except httpx.WriteError:  # the server may hang up on a sender that does not listen
        pass
    else:
        problem(answer, 413)
    assert_nothing_stored(service)


@ONE_KIND
def test_a_sender_that_hangs_up_is_no_error(service, capfd):
    host, port = service.url.removeprefix("http://").split(":")
    head = f"POST /api/v1/experiments HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n"
    head += f"Authorization: Bearer {service.settings.token}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + b'{"name":')
        wait_for(lambda: service.in_flight, "the request to arrive")
    wait_for(lambda: not service.in_flight, "the end of the request")
    assert_nothing_stored(service)
    assert "unexpected error" not in capfd.readouterr().err


def test_pages_hold_everything_once_newest_first(service):
    made = [service.submit(name=f"number {i}")["id"] for i in range(7)]
    seen, cursor = [], None
    while True:
        page = service.get("/experiments", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [item["id"] for item in page["items"]]
        if len(seen) == 3:
            service.submit(name="newer")  # what appears meanwhile does not shift pages
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]


@ONE_KIND
def test_a_cursor_nobody_made_is_refused(service):
    for cursor in ("x", "AAAA", "💥", "a" * 5000, "WzEsMl0"):
        answer = service.client.get("/experiments", params={"cursor": cursor})
        assert pointers(answer) == {"query/cursor"}, cursor


@ONE_KIND
def test_a_cursor_of_another_list_is_refused(service):
    service.submit()
    cursor = service.get("/runs", limit=1)["next_cursor"]
    assert pointers(service.client.get("/experiments", params={"cursor": cursor})) == {"query/cursor"}


@ONE_KIND
def test_unknown_experiment_is_404(service):
    for method, path in (("GET", "/experiments/exp_none"), ("POST", "/experiments/exp_none/cancel")):
        problem(service.client.request(method, path), 404)


def test_idempotency_key_makes_one_experiment(service):
    service.hello()
    key = {"idempotency-key": "abc"}
    first = service.client.post("/experiments", json=SPEC, headers=key)
    again = service.client.post("/experiments", json=SPEC, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert lasting(first.json()) == lasting(again.json())
    other = service.client.post("/experiments", json=changed(name="other"), headers=key)
    problem(other, 422)
    assert service.count(Experiment) == 1


def test_idempotency_key_under_a_race(service):
    service.hello()
    answers = []

    def post():
        answers.append(service.client.post("/experiments", json=SPEC, headers={"idempotency-key": "race"}))

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert service.count(Experiment) == 1


def test_numbers_are_given_once_under_a_race(service):
    service.hello()
    numbers = []

    def post():
        numbers.append(service.client.post("/experiments", json=SPEC).json()["number"])

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))


def test_cancel_ends_what_is_queued_at_once(service):
    made = service.submit()
    answer = service.client.post(f"/experiments/{made['id']}/cancel")
    assert answer.status_code == 202
    body = answer.json()
    assert body["state"] == "cancelled"
    assert body["runs"] == {"cancelled": 4}
    assert body["finished_at"]
    assert service.client.post(f"/experiments/{made['id']}/cancel").json() == body


def paths(document, prefix=()):
    """Yield the path of every value in a document."""
    yield prefix
    if isinstance(document, dict | list):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from paths(value, (*prefix, key))


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=150)
@given(path=st.sampled_from([p for p in paths(SPEC) if p]), value=odd)
def test_any_change_is_accepted_or_refused_with_pointers(service, path, value):
    service.hello()
    document = copy.deepcopy(SPEC)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    before = service.count(Run)
    answer = service.client.post(
        "/experiments", content=json.dumps(document), headers={"content-type": "application/json"}
    )
    if answer.status_code == 201:
        made = answer.json()
        assert sum(made["runs"].values()) == service.count(Run) - before
        assert lasting(service.get(f"/experiments/{made['id']}")) == lasting(made)
    else:
        assert pointers(answer), document
        assert service.count(Run) == before


@ONE_KIND
def test_an_agent_that_describes_a_nameless_algorithm_is_refused(service):
    hello = HELLO | {"name": "lab"}
    answer = service.agent.post("/agents/hello", json=hello | {"algorithms": [{"title": "no name"}]})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/algorithms/0/name"
    assert "lab" not in [cluster["name"] for cluster in service.get("/clusters")["items"]]
