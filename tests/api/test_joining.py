"""Clusters join with tokens of their own, and are drained, resumed and removed."""

import sqlite3

import httpx
import pytest
from hooke.spec.protocol import OLDEST, PROTOCOL, refusal
from hooke_api.base.errors import Unauthorized
from hooke_api.base.security import server_mark
from hooke_api.clusters import tokens

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, HELLO, SPEC
from tests.waiting import LIMIT

ONE, OTHER = "agt_" + 32 * "1", "agt_" + 32 * "2"
LONG_AGO = "2020-01-01 00:00:00.000000+00:00"


def hello(service, name: str, token: str, **more) -> httpx.Response:
    """Send the hello of an agent with this token."""
    body = HELLO | {"name": name, "hardware": {"host": "n1"}}
    headers = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{service.url}/api/v1/agents/hello", json=body | more, headers=headers, timeout=LIMIT)


def make(service, cluster: str, label: str = "") -> dict:
    answer = service.client.post(f"/clusters/{cluster}/tokens", json={"label": label})
    assert answer.status_code == 201, answer.text
    service.tokens[cluster] = answer.json()["token"]  # its agent claims orders with it
    return answer.json()


def detail(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.json()["detail"]


@ONE_KIND
def test_a_token_joins_its_cluster_and_no_other(service):
    made = make(service, "hpc", "login node")
    welcome = hello(service, "hpc", made["token"]).raise_for_status().json()
    assert (welcome["protocol"], welcome["oldest"], welcome["draining"]) == (PROTOCOL, OLDEST, False)
    assert [each["name"] for each in service.get("/clusters")["items"]] == ["hpc"]
    said = detail(hello(service, "lab", made["token"]), 403)
    assert "'hpc', not for 'lab'" in said and "--cluster hpc" in said
    assert "does not know this token" in detail(hello(service, "hpc", made["token"] + "x"), 401)


@ONE_KIND
def test_a_token_is_shown_once_and_stored_hashed(service):
    made = make(service, "hpc", "login node")
    (listed,) = service.get("/clusters/hpc/tokens")["items"]
    assert listed == {name: value for name, value in made.items() if name != "token"}
    assert (listed["label"], listed["used_at"], listed["revoked_at"]) == ("login node", None, None)
    hello(service, "hpc", made["token"]).raise_for_status()
    assert service.get("/clusters/hpc/tokens")["items"][0]["used_at"] is not None
    if service.database.sqlite:  # the secret is in no table
        with sqlite3.connect(service.database.url.database) as connection:
            dump = "\n".join(connection.iterdump())
        assert made["id"] in dump
        assert made["token"] not in dump


def test_a_revoked_token_is_refused_at_once_with_the_remedy(service):
    made, second = make(service, "hpc"), make(service, "hpc")
    hello(service, "hpc", made["token"]).raise_for_status()
    answer = service.client.post(f"/cluster-tokens/{made['id']}/revoke")
    assert answer.json()["revoked_at"] is not None
    assert service.client.post(f"/cluster-tokens/{made['id']}/revoke").json() == answer.json()
    assert "was revoked" in (said := detail(hello(service, "hpc", made["token"]), 401))
    assert "hooke clusters token hpc" in said
    hello(service, "hpc", second["token"]).raise_for_status()
    assert "no token has the id" in detail(service.client.post("/cluster-tokens/tok_no/revoke"), 404)


@ONE_KIND
def test_tokens_of_agents_open_nothing_else(service):
    token = make(service, "hpc")["token"]
    for path in ("/clusters", "/experiments", "/clusters/hpc/tokens"):
        answer = httpx.get(f"{service.url}/api/v1{path}", headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 401


@ONE_KIND
def test_a_proof_of_death_is_accepted_only_for_runs_of_the_own_cluster(service):
    token = make(service, "hpc")["token"]
    supervisor = service.launch()
    run = supervisor.order.run
    body = {"run": run, "attempt": 1, "alive": False, "why": "gone"}
    headers = {"authorization": f"Bearer {token}"}
    answer = httpx.post(f"{service.url}/api/v1/agents/proof", json=body, headers=headers)
    assert "for the cluster 'hpc'" in detail(answer, 403)
    assert service.run(run)["attempt"] == 1


@ONE_KIND
def test_a_second_agent_cannot_take_a_cluster_whose_agent_lives(service):
    token = make(service, "hpc")["token"]
    hello(service, "hpc", token, agent=ONE).raise_for_status()
    hello(service, "hpc", token, agent=ONE).raise_for_status()
    said = detail(hello(service, "hpc", token, agent=OTHER), 409)
    assert "another agent, on n1" in said
    assert "another agent" in detail(hello(service, "hpc", token), 409)  # one without identity


def test_an_agent_with_a_new_home_takes_over_only_when_no_run_is_open(service):
    service.hello(agent=ONE)
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    supervisor = service.next()
    seen(service, "local")
    said = detail(hello(service, "local", service.settings.agents, agent=OTHER), 409)
    assert "1 active run of another agent" in said
    supervisor.report("starting", "running")
    supervisor.report("failed_user")
    seen(service, "local")
    hello(service, "local", service.settings.agents, agent=OTHER).raise_for_status()


def test_a_copied_home_folder_is_refused_while_the_original_reports_or_has_runs(service):
    """The copy has the same identity, knows the same runs, and would take them over on another host."""
    service.hello(agent=ONE, place="n1:/home")
    said = detail(hello(service, "local", service.settings.agents, agent=ONE, place="n2:/home"), 409)
    assert "n1:/home" in said and "from n2:/home" in said and "remove `agent-id` from the copy" in said
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    service.next()
    seen(service, "local")
    assert "with 1 active" in detail(
        hello(service, "local", service.settings.agents, agent=ONE, place="n2:/home"), 409
    )
    hello(service, "local", service.settings.agents, agent=ONE, place="n1:/home").raise_for_status()


@ONE_KIND
def test_only_the_agent_of_the_cluster_proves_a_death(service):
    """Another one, refused or earlier, does not know what the present one has started."""
    service.hello(agent=ONE)
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    run = service.next().order.run
    body = {"run": run, "attempt": 1, "alive": False, "why": "nothing of it is on this host"}
    for agent in ({"agent": OTHER}, {}):
        answer = service.agent.post("/agents/proof", json=body | agent)
        assert "is not the agent of 'local'" in detail(answer, 409)
        assert (service.run(run)["state"], service.run(run)["attempt"]) == ("dispatched", 1)
    assert service.agent.post("/agents/proof", json=body | {"agent": ONE}).status_code == 204
    assert service.run(run)["attempt"] == 2


@ONE_KIND
def test_a_cluster_is_offline_as_soon_as_the_token_of_its_agent_is_revoked(service):
    used, other = make(service, "hpc"), make(service, "hpc")
    hello(service, "hpc", used["token"]).raise_for_status()
    service.client.post(f"/cluster-tokens/{other['id']}/revoke").raise_for_status()
    assert service.get("/clusters/hpc")["online"] is True
    service.client.post(f"/cluster-tokens/{used['id']}/revoke").raise_for_status()
    assert service.get("/clusters/hpc")["online"] is False


def test_a_token_that_is_revoked_during_a_request_does_nothing(service):
    """The token is read again in the transaction that writes: a hello cannot bring back what has been removed."""
    made = make(service, "hpc")
    hello(service, "hpc", made["token"]).raise_for_status()
    began = tokens.AgentCaller("hpc", made["id"])  # as it was when the request began
    assert service.client.delete("/clusters/hpc").status_code == 204
    with pytest.raises(Unauthorized), service.database.write() as session:
        tokens.confirm(session, began, "hpc")


@ONE_KIND
def test_the_welcome_names_the_broker_without_telling_the_token(service):
    told = hello(service, "hpc", service.settings.agents).json()["broker"]
    assert told == server_mark(service.settings.agents)
    assert service.settings.agents not in told


def seen(service, name: str, moment: str = LONG_AGO) -> None:
    """Set when the agent of a cluster was heard last."""
    from sqlalchemy import text

    with service.database.write() as session:
        session.execute(text("UPDATE clusters SET seen_at = :at WHERE name = :name"), {"at": moment, "name": name})


@pytest.mark.parametrize(
    ("protocol", "oldest", "expected"),
    [
        (OLDEST, 1, None),
        (PROTOCOL, OLDEST, None),
        (PROTOCOL + 5, PROTOCOL, None),
        (OLDEST - 1, 0, "speaks protocol"),
        (4, 4, "speaks protocol 4"),  # takes what is to run from the broker
        (PROTOCOL + 2, PROTOCOL + 1, "understands protocol"),
    ],
)
@ONE_KIND
def test_versions_that_cannot_work_together_are_told_on_both_sides(service, protocol, oldest, expected):
    answer = hello(service, "hpc", service.settings.agents, protocol=protocol, oldest=oldest)
    here = refusal((protocol, oldest), "the server", "upgrade it")
    if expected is None:
        assert (answer.status_code, here) == (200, None)
    else:
        assert expected in detail(answer, 409)
        assert expected in here
        assert service.get("/clusters")["items"] == []


@ONE_KIND
def test_a_drained_cluster_finishes_what_it_has_and_gets_nothing_new(service):
    supervisor = service.launch()
    assert service.client.post("/clusters/local/drain").json()["draining"] is True
    supervisor.report("starting", "running")
    supervisor.report("failed_user")
    service.submit()
    service.scheduler.look()
    assert len(service.line.launched) == 1
    assert service.get("/clusters/local")["draining"] is True  # a hello does not resume it
    assert service.client.post("/clusters/local/resume").json()["draining"] is False
    service.scheduler.look()
    assert len(service.line.launched) == 2


@ONE_KIND
def test_a_cluster_is_removed_with_its_tokens_once_its_runs_have_ended(service):
    token = make(service, "hpc")["token"]
    hello(service, "hpc", token).raise_for_status()
    service.submit()
    said = detail(service.client.delete("/clusters/local"), 409)
    assert "have not ended" in said and "cancel them" in said
    assert service.client.delete("/clusters/hpc").status_code == 204
    assert [each["name"] for each in service.get("/clusters")["items"]] == ["local"]
    assert "was revoked" in detail(hello(service, "hpc", token), 401)
    hello(service, "hpc", make(service, "hpc")["token"], agent=OTHER).raise_for_status()  # it may join again
    assert "no cluster" in detail(service.client.delete("/clusters/none"), 404)


def test_a_cluster_whose_agent_has_the_servers_own_token_is_not_removed_while_it_runs(service):
    """It would be back at the next hello: that of `hooke up`, above all."""
    service.hello()
    said = detail(service.client.delete("/clusters/local"), 409)
    assert "would join again within seconds" in said
    assert "drain the cluster" in said
    assert service.get("/clusters/local")["online"] is True
    seen(service, "local")
    assert service.client.delete("/clusters/local").status_code == 204
    assert service.get("/clusters")["items"] == []


LACKS = "mnist-lenet lacks four files: put them there"


def data_faults(service, path, **changes):
    """Return the faults, or the warnings, about the workload of an experiment that is sent."""
    answer = service.client.post(path, json=SPEC | changes).json()
    told = answer["errors"] if "errors" in answer else answer["warnings"]
    return [fault["message"] for fault in told if fault["pointer"] == "/workload/name"]


@pytest.mark.parametrize("path", ["/experiments/dry-run", "/experiments"])
@ONE_KIND
def test_an_experiment_whose_data_a_cluster_lacks_is_refused(service, path):
    service.hello(missing_data={"mnist-lenet": LACKS})
    answer = service.client.post(path, json=SPEC | {"workload": {"name": "mnist-lenet"}, "baseline": "who"})
    assert answer.status_code == 422
    told = {fault["pointer"]: fault["message"] for fault in answer.json()["errors"]}
    assert told == {"/workload/name": f"On the cluster local: {LACKS}", "/baseline": "no variant has this name"}
    assert service.get("/experiments")["items"] == []
    service.hello(missing_data={})
    assert data_faults(service, path, workload={"name": "mnist-lenet"}) == []


@ONE_KIND
def test_where_ranks_have_other_hosts_than_the_agent_missing_data_are_a_warning(service):
    service.hello(missing_data={"mnist-lenet": LACKS}, launcher="slurm")
    answer = service.client.post("/experiments/dry-run", json=SPEC | {"workload": {"name": "mnist-lenet"}})
    assert answer.status_code == 200
    assert f"On the cluster local: {LACKS}" in [fault["message"] for fault in answer.json()["warnings"]]


@ONE_KIND
def test_data_that_parameters_select_otherwise_are_not_reported_as_missing(service):
    service.hello(missing_data={"text-transformer": "no text"})
    for path, expected in (("", 1), ("mine.txt", 0)):
        workload = {"name": "text-transformer", "parameters": {"path": path}}
        assert len(data_faults(service, "/experiments/dry-run", workload=workload)) == expected


@ONE_KIND
def test_the_dry_run_says_that_a_cluster_is_drained(service):
    service.hello()
    service.client.post("/clusters/local/drain")
    answer = service.client.post("/experiments/dry-run", json=SPEC).raise_for_status().json()
    assert any("drained" in fault["message"] for fault in answer["warnings"])
