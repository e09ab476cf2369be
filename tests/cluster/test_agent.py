"""What an agent knows and keeps to itself: its machines and secrets; and how it ends."""

import json
import os
import signal
import threading
from types import SimpleNamespace

import pytest
from hooke.cluster import agent as agents
from hooke.cluster.agent_client import Refused
from hooke.cluster.environment import for_user_code
from hooke.cluster.hello import Heartbeat, describe, read_catalogues
from hooke.cluster.launchers.settings import launcher_settings
from hooke.cluster.machines import machines_of
from hooke.hardware.machine import machine
from hooke.spec import protocol
from hooke.spec.events import ABSENT
from hooke.spec.protocol import OLDEST, PROTOCOL, AgentWelcome

from tests.waiting import LIMIT, wait_for

SECRETS = {
    "HOOKE_TOKEN": "hunter2",
    "HOOKE_AGENT_TOKEN": "hunter2",
    "HOOKE_DATABASE_URL": "postgresql://hooke:hunter2@db/hooke",
    "HOOKE_REDIS_URL": "redis://:hunter2@broker/0",
    "PGPASSWORD": "hunter2",
    "REDIS_PASSWORD": "hunter2",
}


def test_users_code_sees_no_secret_of_the_service_and_all_of_the_users():
    mine = {"PATH": "/bin", "HOOKE_DATA": "/data", "HOOKE_PATH": "/own", "HF_HOME": "/models", "MY_TOKEN": "kept"}
    assert for_user_code(mine | SECRETS) == mine


def test_a_users_file_is_read_without_the_agents_secrets(monkeypatch, tmp_path):
    """It runs in a process of the agent, whenever it has changed."""
    folder = tmp_path / "own" / "algorithms"
    folder.mkdir(parents=True)
    told = tmp_path / "told.json"
    (folder / "spy.py").write_text(f"import json, os\njson.dump(dict(os.environ), open({str(told)!r}, 'w'))\n")
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOOKE_PATH", str(tmp_path / "own"))
    (problem,) = read_catalogues()["problems"]
    assert "contains no algorithm" in problem["error"]
    seen = json.loads(told.read_text())
    assert "hunter2" not in json.dumps(seen)
    assert seen["HOOKE_PATH"] == str(tmp_path / "own")


def test_a_cluster_tells_the_machine_that_it_computes_on(tmp_path):
    known = machines_of(None, tmp_path).look()
    assert known == [machine(kept=tmp_path / "machine-id")]
    assert describe("a", machines=known).machines == known
    slurm = launcher_settings({"launcher": {"kind": "slurm", "slots": 4}})
    assert machines_of(slurm, tmp_path).look() == [], "its scheduler chooses the nodes"


def test_hosts_of_a_list_are_asked_which_machines_they_are(tmp_path):
    agent = tmp_path / "agent.sh"
    agent.write_text('[ "$1" = gone ] && exit 1\necho a login banner\nexec sh -c "$2"\n')
    hosts = [{"address": name, "slots": 1} for name in ("one", "two", "gone")]
    settings = launcher_settings({"launcher": {"kind": "hosts", "hosts": hosts, "agent": ["sh", str(agent)]}})
    machines = machines_of(settings, tmp_path)
    assert machines.look() == []
    told = wait_for(lambda: (found := machines.look()) and not machines._asked and found, "all answers")
    assert told == [machine()], "both are this one"


def test_a_server_that_puts_its_work_on_the_broker_is_refused():
    """Its messages are no orders for this agent, which would wait forever."""
    line = SimpleNamespace(hello=lambda _: AgentWelcome(protocol=4, oldest=1, version="0.1.9"))
    heartbeat = Heartbeat(line, lambda _: None)
    told = (
        "the server speaks protocol 4; this version understands 9: upgrade the server, or install hooke 0.1.9 here"
    )
    with pytest.raises(Refused, match=told):
        heartbeat._hello(None)
    assert heartbeat.answered.is_set() and heartbeat.refused == told


def test_every_server_that_an_agent_works_with_knows_the_columns_of_its_steps():
    """Another one sets blocks with a column that it does not know aside: a run without steps."""
    since = {"staleness": 1, "worker": 1, "rebuild": 8, "joined": 9}
    assert set(since) == set(ABSENT), "in which protocol was it added?"
    assert max(since.values()) <= protocol.OLDEST_SERVER


def test_an_agent_that_takes_its_work_from_the_broker_refuses_this_server(monkeypatch):
    welcome = (PROTOCOL, OLDEST)
    monkeypatch.setattr(protocol, "PROTOCOL", 4)  # as that agent sees it
    assert "the server understands protocol 5 and later, and the other side speaks 4" in protocol.refusal(
        welcome, "the server", "upgrade it", oldest_here=4
    )


@pytest.fixture
def ending(monkeypatch):
    """Return what ends an agent, which is not ended, and the heartbeat that it stops."""
    monkeypatch.setattr(agents.faulthandler, "dump_traceback_later", lambda *_, **__: None)
    monkeypatch.setattr(agents.state, "should_stop", None)
    monkeypatch.setattr(agents, "_PATIENCE", 0.0)
    heartbeat, left = Heartbeat(None, None), threading.Event()
    found = agents.Ending(heartbeat, lambda _: left.set())
    return found, heartbeat, left


def test_a_signal_is_noted_while_the_main_thread_holds_the_locks_that_ending_needs(ending):
    found, heartbeat, left = ending
    found.start()
    locks = (heartbeat.answered._cond, heartbeat._stopped._cond)
    with locks[0], locks[1]:
        handler = threading.Thread(
            target=lambda: [found.note(signal.SIGTERM, None) for _ in range(3)], daemon=True
        )
        handler.start()
        handler.join(LIMIT)
        assert not handler.is_alive(), "the handler waits for a lock"
        assert not left.is_set()
    assert left.wait(LIMIT)
    assert heartbeat.stopped and heartbeat.answered.is_set()
    assert agents.state.should_stop == 0


def test_signals_without_end_neither_block_the_handler_nor_put_the_end_off(ending, monkeypatch):
    found, _, _ = ending
    ends = []
    monkeypatch.setattr(agents.faulthandler, "dump_traceback_later", lambda *told, **_: ends.append(told))
    os.write(found._ask, b"." * 60_000)
    for _ in range(10_000):
        found.note(signal.SIGTERM, None)
    assert ends == [(agents._LAST,)]
