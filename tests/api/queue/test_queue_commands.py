"""The commands of the queue, as a user types them, against a running API."""

import json
from datetime import datetime, timedelta

import pytest
from hooke.cli.group import app
from hooke_api.local.queue_commands import _when
from hooke_api.queue import trace
from hooke_api.queue.synthetic import Shape, synthetic
from typer.testing import CliRunner

from tests.api.databases import ONE_KIND
from tests.api.queue.test_queue_service import names, policy, submit, took
from tests.api.queue.test_replay import HELIOS

pytestmark = ONE_KIND  # the database makes no difference to a command


def hooke(*arguments, status=0, **environment):
    answer = CliRunner().invoke(app, arguments, env=environment)
    assert answer.exit_code == status, answer.output
    return answer.output


@pytest.fixture
def remote(service, monkeypatch):
    """Set address and token as a user would."""
    monkeypatch.setenv("HOOKE_API", service.url)
    monkeypatch.setenv("HOOKE_TOKEN", service.settings.token)
    service.hello()
    return service


def test_the_queue_is_shown_with_reasons(remote):
    submit(remote, "first", seeds=2)
    submit(remote, "second", "ada")
    remote.scheduler.look()
    told = hooke("queue")
    assert told.startswith(
        "local: online, 2 of 4 slots free, first-come\n  active: experiment 1 of owner, 2 runs (2 "
    )
    assert told.splitlines()[-1].split()[:6] == ["1", "2", "second", "ada", "1", "0"]
    assert "taken by experiment 1 for an unknown time" in told
    assert json.loads(hooke("queue", "local", "--json"))[0]["entries"][0]["name"] == "second"
    assert "no cluster is called 'absent'" in hooke("queue", "absent", status=1)


def test_policy_and_priority_are_changed(remote):
    submit(remote, "first")
    second = submit(remote, "second")
    told = hooke("queue-policy", "local", "--order", "priority", "--max-waiting", "9", "--ageing", "0")
    assert told.split()[:4] == ["order", "priority", "ageing_minutes", "none"]
    assert "max_waiting_runs  9" in hooke("queue-policy", "local", "--half-life", "2")
    assert "max_waiting_runs  none" in hooke("queue-policy", "local", "--max-waiting", "0")
    assert "has priority 4\n  on local: position 1, next to start" in hooke("priority", second, "4")
    assert names(remote) == ["second", "first"]
    hooke("priority", second, "--", "-4")
    assert names(remote) == ["first", "second"]
    assert "/order: Input should be" in hooke("queue-policy", "local", "--order", "random", status=1)


def test_the_address_and_the_token_come_from_the_home_folder(remote, tmp_path, monkeypatch):
    monkeypatch.delenv("HOOKE_API")
    monkeypatch.delenv("HOOKE_TOKEN")
    assert "no server has run with the folder" in hooke("queue", "--home", str(tmp_path), status=1)
    (tmp_path / "up.json").write_text(json.dumps({"url": remote.url}))
    assert "there is no token in" in hooke("queue", "--home", str(tmp_path), status=1)
    (tmp_path / "token").write_text("wrong\n")
    assert "this token is not valid" in hooke("queue", "--home", str(tmp_path), status=1)
    (tmp_path / "token").write_text(remote.settings.token + "\n")
    assert "nothing waits" in hooke("queue", "--home", str(tmp_path))
    (tmp_path / "token").rename(tmp_path / "elsewhere")  # as in the containers
    here = {"HOOKE_TOKEN_FILE": str(tmp_path / "elsewhere")}
    assert "nothing waits" in hooke("queue", "--home", str(tmp_path), **here)
    told = hooke("queue", "--api", "http://other.example", "--home", str(tmp_path), status=1, **here)
    assert "belongs to a server on this host, not to http://other.example" in told
    (tmp_path / "elsewhere").rename(tmp_path / "token")
    assert "cannot be reached" in hooke("queue", "--api", "http://127.0.0.1:9", "--home", str(tmp_path), status=1)


def test_a_trace_is_replayed_from_a_file(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text(trace.written(synthetic(1, Shape(jobs=400, users=9, slots=16)).jobs))
    figure = tmp_path / "waits.svg"
    told = hooke("replay-queue", str(file), "--slots", "16", "--figure", str(figure))
    assert told.startswith("trace.csv: 400 jobs in ")
    assert len([line for line in told.splitlines() if line.startswith("shortest service")]) == 2
    assert "<svg" in figure.read_text()
    found = json.loads(hooke("replay-queue", str(file), "--slots", "16", "--json"))
    assert [each["order"] for each in found[:2]] == ["first-come", "priority"]
    assert "Simulated waits." in told


def test_what_cannot_be_replayed_says_why(tmp_path):
    file = tmp_path / "trace.csv"
    file.write_text("a,b\n")
    assert "not a job trace" in hooke("replay-queue", str(file), status=1)
    file.write_text(HELIOS.replace("2020-06-09 18:42:27,2020-06-09 18:46:36", ","))
    assert "--slots" in hooke("replay-queue", str(file), status=1)
    assert "No such file" in hooke("replay-queue", str(tmp_path / "absent.csv"), status=1)
    assert "give one of" in hooke("replay-queue", status=2)


def test_the_history_of_a_cluster_is_replayed(remote):
    assert "no job with slots" in hooke("replay-queue", "--cluster", "local", status=1)
    submit(remote, "one", seeds=2)
    policy(remote)
    remote.scheduler.look()
    took(remote, 30)
    assert hooke("replay-queue", "--cluster", "local").startswith(
        "history of local: 1 jobs in 0.0 days on 4 slots"
    )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_that_are_none_are_refused(remote, value):
    told = hooke("queue-policy", "local", "--ageing", value, status=2)
    assert "Invalid value for --ageing: give a number" in told


def test_a_predicted_time_of_another_day_has_its_date():
    at = datetime.now().astimezone().replace(hour=12, minute=0, second=0, microsecond=0)

    def shown(*hours):
        times = [(at + timedelta(hours=each)).isoformat() for each in hours]
        return _when(dict(zip(("at", "earliest", "latest"), times, strict=True)))

    assert shown(0, -1, 1) == "12:00 (11:00-13:00)"
    later = at + timedelta(hours=36)
    assert shown(0, -1, 36).endswith(f"-{later:%d} 00:00)")
    assert shown(0, -1, 24 * 800).endswith(f"-{at + timedelta(days=800):%Y-%m-%d} 12:00)")
    assert shown(0, 0, 0) == "12:00"
    assert _when(None) == "unknown"
