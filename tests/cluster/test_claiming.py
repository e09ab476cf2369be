"""What an agent makes of a message on the broker: it asks the API, and does what that answers, or nothing."""

import hashlib
import json
import logging
import threading
from types import SimpleNamespace

import httpx
import pytest
from hooke.cluster import broker, orders, retrying
from hooke.cluster.agent import register
from hooke.cluster.agent_client import ApiClient
from hooke.cluster.places import Home
from hooke.spec.orders import BrokerOrder, Cancel, Forget, Launch, LaunchOrder, Probe

from tests.cluster.bench import Tasks, spec
from tests.cluster.recording_api import RecordingApi
from tests.waiting import LIMIT, wait_for

ME, OTHER = "agt_" + 32 * "1", "agt_" + 32 * "2"
ORDER = "ord_" + 32 * "0"


class Agent:
    """The tasks of an agent, a real client, and a server that it asks."""

    def __init__(self, path):
        self.home, self.api, self.tasks = Home(path / "home"), RecordingApi(), Tasks()
        (path / "token").write_text("hooke_cluster_x\n")
        self.client = ApiClient(self.api.url, path / "token", ME)
        register(self.tasks, self.home, self.api.url, self.client)

    def receive(self, kind="launch", **changes):
        """Let a message arrive, as JSON."""
        document = BrokerOrder(id=ORDER, agent=ME, made=1.0).model_dump() | changes
        self.tasks.by_name[broker.TASKS[kind]](json.loads(json.dumps(document)))

    def files(self):
        return sorted(self.home.path.rglob("*"))


@pytest.fixture
def agent(tmp_path):
    made = Agent(tmp_path)
    yield made
    made.client._client.close()
    made.api.down()


def launch(*runs, token="t"):
    return Launch(attempts=[LaunchOrder(run=run, attempt=1, token=token, spec=spec()) for run in runs])


def test_the_order_is_claimed_with_the_agents_token_and_identity(agent, monkeypatch):
    started = []
    monkeypatch.setattr(orders, "launch", lambda home, api, given, *_: started.append(given) or [])
    agent.api.orders[ORDER] = launch("run_a", "run_b")
    agent.receive()
    ((asked, credential),) = agent.api.claims
    assert (asked.order, asked.agent, credential) == (ORDER, ME, "Bearer hooke_cluster_x")
    assert [[order.run for order in given] for given in started] == [["run_a", "run_b"]]


def test_what_is_done_is_what_the_api_answers_whatever_the_message_says(agent):
    """Task names are written by whoever writes to the broker."""
    agent.api.orders[ORDER] = Probe(run="run_a", attempt=1)
    agent.receive("forget")
    assert [(proof.run, proof.alive, proof.agent) for proof in agent.api.proofs] == [("run_a", False, ME)]
    agent.api.orders[ORDER] = Forget(runs=["run_b"])
    agent.receive("launch")
    assert [report.forgotten for report in agent.api.forgotten] == [["run_b"]]
    agent.api.orders[ORDER] = Cancel(run="run_c", attempt=2)
    agent.receive("calibrate")
    assert agent.home.attempt("run_c", 2).cancel.exists()
    assert len(agent.api.claims) == 3


def test_a_forged_order_makes_the_agent_ask_and_nothing_else(agent, caplog):
    with caplog.at_level(logging.WARNING):
        for kind in broker.TASKS:
            agent.receive(kind, id="ord_" + 32 * "f")
    assert len(agent.api.claims) == len(broker.TASKS)
    assert (agent.files(), agent.api.proofs, agent.api.forgotten) == ([], [], [])
    assert "is refused: there is no such order for this agent" in caplog.text


def test_an_order_for_another_agent_is_left_to_it(agent, caplog):
    """One that was replaced while it slept still takes orders, until its next hello is refused."""
    agent.api.orders[ORDER] = Cancel(run="run_a", attempt=1)
    agent.receive("cancel", agent=OTHER)
    assert (agent.api.claims, agent.files()) == ([], [])
    assert "is left to it" in caplog.text


@pytest.mark.parametrize(
    "document",
    [
        [{"run": "run_a", "attempt": 1, "token": "hunter2", "spec": {}}],  # of a server before protocol 5
        {"id": ORDER, "agent": ME, "made": 1.0, "spec": {"name": "hunter2"}},
        {"id": "../../hunter2", "agent": ME, "made": 1.0},
        {"id": ORDER, "made": "hunter2"},
        None,
    ],
    ids=["earlier", "more", "no id", "less", "nothing"],
)
def test_a_message_that_is_no_order_is_left_out_and_not_logged(agent, caplog, document):
    with caplog.at_level(logging.DEBUG):
        agent.tasks.by_name[broker.TASKS["launch"]](document)
    assert (agent.api.claims, agent.files()) == ([], [])
    assert "is not an order" in caplog.text
    assert "hunter2" not in caplog.text


def test_an_order_that_arrives_while_the_api_is_away_is_carried_out_when_it_is_back(agent, caplog):
    agent.api.orders[ORDER] = Cancel(run="run_a", attempt=1)
    agent.api.down()
    thread = threading.Thread(target=agent.receive, args=("cancel",))
    thread.start()
    wait_for(lambda: "is tried again until the API answers" in caplog.text, "a claim that failed")
    assert thread.is_alive()
    agent.api.up()
    thread.join(LIMIT)
    assert agent.home.attempt("run_a", 1).cancel.exists()


def clocked(monkeypatch):
    """Replace the clock of claims by one that only their pauses move; return the pauses."""
    paused = []
    clock = SimpleNamespace(monotonic=lambda: sum(paused), sleep=paused.append)
    monkeypatch.setattr(retrying, "time", clock)
    return paused


@pytest.mark.parametrize("trouble", ["away", "broken", "garbage"])
def test_claims_end_after_a_while_with_growing_pauses_and_jitter(agent, monkeypatch, trouble, caplog):
    """The scheduler sends again what it still wants, so nothing is lost."""
    answers = {
        "broken": lambda _: httpx.Response(500),
        "garbage": lambda _: httpx.Response(200, text="<html>"),
    }
    if trouble == "away":
        agent.api.down()
    else:
        agent.client._client.close()
        agent.client._client = httpx.Client(transport=httpx.MockTransport(answers[trouble]))
    paused = clocked(monkeypatch)
    agent.receive()
    assert 40 < sum(paused) <= retrying.LIMIT
    for number, pause in enumerate(paused):
        most = min(retrying.LONGEST, retrying.FIRST * 2**number)
        assert most / 2 <= pause <= most
    assert len({round(pause, 6) for pause in paused}) == len(paused), "no jitter"
    assert "is left out" in caplog.text
    assert agent.files() == []


def test_an_api_that_asks_for_time_gets_it(agent, monkeypatch):
    answers = iter([httpx.Response(429, headers={"retry-after": "7"}), httpx.Response(404)])
    agent.client._client.close()
    agent.client._client = httpx.Client(transport=httpx.MockTransport(lambda _: next(answers)))
    paused = clocked(monkeypatch)
    agent.receive()
    assert len(paused) == 1 and paused[0] >= 7.0


def test_an_order_that_comes_twice_at_once_makes_one_job_with_the_token_that_it_is_known_by(agent, monkeypatch):
    """Each claim gets another token; a proof of death needs the one that the supervisor reports with."""
    both, numbers = threading.Barrier(2), iter(range(2))
    monkeypatch.setattr(orders, "_check_space", lambda _: both.wait(LIMIT))
    monkeypatch.setattr(orders, "start_supervisor", lambda *_: None)
    agent.api.orders[ORDER] = lambda: launch("run_a", token=f"secret-{next(numbers)}")
    threads = [threading.Thread(target=agent.receive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    (job,) = agent.home.path.glob("jobs/*")
    token = json.loads((job / "tokens.json").read_text())["run_a.1"]
    known = agent.home.attempt("run_a", 1).token_sha256.read_text()
    assert known == hashlib.sha256(token.encode()).hexdigest()
