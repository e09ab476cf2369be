"""What the holder of one token tries with what belongs to others; each was possible or is tried to be so."""

import hashlib
import hmac
import sqlite3

import httpx
import pytest
from hooke_api.base.security import digest
from hooke_api.models import Attempt, AttemptToken, Run, Transition
from sqlalchemy import delete, select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, done, start, steps
from tests.api.test_ingest import rank
from tests.api.test_joining import detail, hello, make


@pytest.fixture
def two(service):
    """Return supervisors on two clusters, each with a token of its own: `lab`, the forger's, and `hpc`."""
    tokens = {name: make(service, name)["token"] for name in ("lab", "hpc")}
    found = {}
    for number, name in enumerate(tokens):
        hello(service, name, tokens[name], agent=f"agt_{number:032x}").raise_for_status()
        clusters = [{"name": name, "workers": [2], "seeds": 1}]
        service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters}).raise_for_status()
        found[name] = service.next()
    return tokens, found


def send(service, path: str, token: str, body: dict) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return service.sender.post(f"{service.url}/api/v1{path}", json=body, headers=headers)


def derived(secret: str, run: str, attempt: int) -> str:
    """Return the token as earlier versions derived it from the secret that all agents shared."""
    key = hashlib.sha256(b"hooke attempt key\0" + secret.encode()).digest()
    return hmac.new(key, f"{run}.{attempt}".encode(), hashlib.sha256).hexdigest()


@ONE_KIND
def test_the_token_of_an_attempt_follows_from_no_other_secret(service, two):
    tokens, found = two
    victim = found["hpc"]
    body = victim.request(rank(0, start())).model_dump(mode="json")
    for secret in (service.settings.agents, tokens["lab"], tokens["hpc"], found["lab"].order.token):
        for guess in (secret, derived(secret, victim.id, 1)):
            assert send(service, "/ingest", guess, body).status_code == 401
    assert service.run(victim.id)["state"] == "dispatched"
    assert send(service, "/ingest", victim.order.token, body).status_code == 200


@ONE_KIND
def test_tokens_of_attempts_are_random_and_stored_as_hashes(service, two):
    _, found = two
    tokens = [each.order.token for each in found.values()]
    assert len(set(tokens)) == 2 and all(len(token) > 40 for token in tokens)
    with service.database.read() as session:
        assert set(session.scalars(select(AttemptToken.token_sha256))) == {digest(token) for token in tokens}
    if service.database.sqlite:
        with sqlite3.connect(service.database.url.database) as connection:
            dump = "\n".join(connection.iterdump())
        assert digest(tokens[0]) in dump
        assert not [token for token in tokens if token in dump]


@ONE_KIND
def test_each_kind_of_token_is_refused_where_another_belongs(service, two):
    tokens, found = two
    mine = found["lab"]
    proof = {"run": mine.id, "attempt": 1, "alive": False, "why": "x", "agent": f"agt_{0:032x}"}
    launch = {"attempts": [{"run": mine.id, "attempt": 1}], "why": "x"}
    told = {"name": "lab", "cores": 1, "slots": 1, "launcher": "local", "hardware": {}, "versions": {}}
    for path, body in (("/agents/proof", proof), ("/agents/hello", told), ("/agents/failed-launch", launch)):
        assert send(service, path, mine.order.token, body).status_code == 401
    for token in (tokens["lab"], mine.order.token):
        headers = {"authorization": f"Bearer {token}"}
        assert service.sender.get(f"{service.url}/api/v1/runs", headers=headers).status_code == 401


@ONE_KIND
def test_another_cluster_s_run_is_not_ended_by_proof_or_by_a_failed_launch(service, two):
    tokens, found = two
    victim = found["hpc"]
    proof = {"run": victim.id, "attempt": 1, "alive": False, "why": "gone"}
    launch = {"attempts": [{"run": victim.id, "attempt": 1}], "why": "x"}
    for agent in ({}, {"agent": f"agt_{0:032x}"}, {"agent": f"agt_{1:032x}"}):
        for path, body in (("/agents/proof", proof), ("/agents/failed-launch", launch)):
            assert "for the cluster 'lab'" in detail(send(service, path, tokens["lab"], body | agent), 403)
            assert "token of this cluster" in detail(
                send(service, path, service.settings.agents, body | agent), 403
            )
    run = service.run(victim.id)
    assert (run["state"], run["attempt"]) == ("dispatched", 1)


def test_the_agent_of_the_cluster_reports_a_failed_launch(service, two):
    tokens, found = two
    body = {"attempts": [{"run": found["hpc"].id, "attempt": 1}], "why": "on n1: ENOSPC", "agent": f"agt_{1:032x}"}
    assert "is not the agent" in detail(
        send(service, "/agents/failed-launch", tokens["hpc"], body | {"agent": f"agt_{0:032x}"}), 409
    )
    assert send(service, "/agents/failed-launch", tokens["hpc"], body).status_code == 204
    assert (service.run(found["hpc"].id)["state"], service.run(found["hpc"].id)["attempt"]) == ("queued", 2)
    held = {name: service.get(f"/clusters/{name}")["held_why"] for name in ("lab", "hpc")}
    assert held == {"lab": None, "hpc": "on n1: ENOSPC"}
    service.scheduler.look()
    assert len(service.line.launched) == 2


@ONE_KIND
def test_the_server_s_own_token_does_not_speak_for_a_cluster_that_has_one(service, two):
    """`hooke up` gives it to its own agent: whoever reads that file must not be every cluster."""
    tokens, _ = two
    own = service.settings.agents
    assert "does not speak for it" in detail(hello(service, "hpc", own, agent=f"agt_{1:032x}"), 403)
    hello(service, "local", own).raise_for_status()
    (listed,) = service.get("/clusters/hpc/tokens")["items"]
    service.client.post(f"/cluster-tokens/{listed['id']}/revoke").raise_for_status()
    hello(service, "hpc", own, agent=f"agt_{1:032x}").raise_for_status()
    assert "was revoked" in detail(hello(service, "hpc", tokens["hpc"]), 401)


@ONE_KIND
def test_a_death_of_an_attempt_that_has_reported_is_proven_with_its_own_token_too(service, two):
    """The token of the cluster and the identity of its agent, both stolen, are not enough."""
    tokens, found = two
    victim = found["hpc"]
    victim.report("starting", "running")
    proof = {"run": victim.id, "attempt": 1, "alive": False, "why": "gone", "agent": f"agt_{1:032x}"}
    for wrong in (None, digest("guess"), digest(found["lab"].order.token), digest(tokens["hpc"])):
        answer = send(service, "/agents/proof", tokens["hpc"], proof | {"token_sha256": wrong})
        assert "the agent that has received this token" in detail(answer, 403)
    assert service.run(victim.id)["state"] == "running"
    right = proof | {"token_sha256": digest(victim.order.token)}
    assert send(service, "/agents/proof", tokens["hpc"], right).status_code == 204
    assert (service.run(victim.id)["state"], service.run(victim.id)["attempt"]) == ("queued", 2)


def test_an_order_that_did_not_arrive_is_proven_by_the_agent_alone(service, two):
    """Nobody has the token then; it counts as no failure."""
    tokens, found = two
    victim = found["hpc"]
    proof = {"run": victim.id, "attempt": 1, "alive": False, "why": "nothing", "agent": f"agt_{1:032x}"}
    assert send(service, "/agents/proof", tokens["hpc"], proof).status_code == 204
    run = service.run(victim.id)
    assert (run["state"], run["attempt"], run["failures"]) == ("queued", 2, 0)


@ONE_KIND
def test_success_needs_the_done_record_of_every_rank(service):
    """Even from the holder of the attempt's token: set `succeeded` with nothing behind it."""
    supervisor = service.launch(retry={"attempts": 1})
    supervisor.report("starting", "running")
    supervisor.reports.append(supervisor.reports[-1].model_copy(update={"state": "succeeded"}))
    assert supervisor.send().reports == 3
    run = service.run(supervisor.id)
    assert run["state"] == "failed_infra"
    assert "no `done` record of a regular end of rank 0, 1" in run["history"][-1]["why"]


def test_success_waits_for_records_that_are_still_to_come(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.reports.append(supervisor.reports[-1].model_copy(update={"state": "succeeded"}))
    assert supervisor.send(rank(0, start(), steps(1)), renew=False).reports == 2
    assert supervisor.send(rank(0), rank(1), renew=False).reports == 2  # a new supervisor asks what is stored
    assert supervisor.send(rank(0, done(2)), renew=False).reports == 2
    assert service.run(supervisor.id)["state"] == "running"
    assert supervisor.send(rank(1, start(), done(1)), renew=False).reports == 3
    assert service.run(supervisor.id)["state"] == "succeeded"


@ONE_KIND
@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
def test_success_needs_regular_ends(service, reason):
    supervisor = service.launch(retry={"attempts": 1})
    supervisor.report("starting", "running")
    supervisor.reports.append(supervisor.reports[-1].model_copy(update={"state": "succeeded"}))
    supervisor.send(rank(0, start(), done(1)), rank(1, start(), done(1, reason=reason)))
    run = service.run(supervisor.id)
    assert (run["state"], "of rank 1" in run["history"][-1]["why"]) == ("failed_infra", True)


@pytest.mark.parametrize("used", [0, 1])
def test_the_token_that_reports_first_is_the_only_one_from_then_on(service, used):
    """An answer to a claim may have been lost, or a supervisor be starting with it: nobody knows which is used."""
    first = service.launch()
    with service.database.write() as session:
        session.execute(update(Attempt).values(sent_at=None))
    second = service.next()
    assert (second.id, second.order.attempt) == (first.id, 1)
    assert second.order.token != first.order.token
    assert service.count(AttemptToken) == 2
    claims = [first, second]
    claims[used].report("starting")
    other = claims[1 - used]
    assert other.post(other.request().model_dump_json().encode()).status_code == 401
    with service.database.read() as session:
        assert session.scalars(select(AttemptToken.token_sha256)).all() == [digest(claims[used].order.token)]
    claims[used].report("running")
    assert service.run(first.id)["state"] == "running"


def test_what_is_deleted_takes_its_tokens_along(service):
    supervisor = service.launch()
    with service.database.write() as session:
        for table in (Transition, Attempt):
            session.execute(delete(table).where(table.run_id == supervisor.id))
        session.execute(delete(Run).where(Run.id == supervisor.id))
    assert service.count(AttemptToken) == 0
