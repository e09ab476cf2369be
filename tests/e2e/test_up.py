"""`hooke up` as a user meets it: real processes, ended in every way, and nothing of them left."""

import os
import re
import signal
from pathlib import Path

import httpx
from hooke_api.local.instance import Note, runtime_folder
from instances import ENDLESS, QUICK, processes, runs, states, submit

from tests.waiting import LIMIT, wait_for


def until_running(client, experiment):
    wait_for(lambda: "running" in states(client, experiment), "a running run")


def until_training(client, experiment):
    wait_for(lambda: any(run["samples"] > 0 for run in runs(client, experiment)), "samples")


def assert_idle_one_ends(up, number):
    """End an instance without work: at once, and nothing of it is left."""
    assert len(processes(up.home)) >= 4, "itself, Redis, API and agent"
    assert up.end(number) == 0, up.said()
    assert processes(up.home) == {}
    assert not runtime_folder(up.home).joinpath("redis.sock").exists()
    assert Note.read(up.home / "up.json").parts == {}


def test_ctrl_c_ends_runs_and_streams(hooke):
    up = hooke("up")
    with up.ready() as client:
        experiment = submit(client, ENDLESS)
        until_training(client, experiment)
        with client.stream("GET", "/events", params={"after": 0}, timeout=30) as stream:
            lines = stream.iter_lines()
            next(line for line in lines if line.startswith("event:"))
            assert len(processes(up.home)) >= 8, "mpirun, proxy, two guards, two ranks as well"
            assert up.end(signal.SIGINT) == 0, up.said()
    assert processes(up.home) == {}
    again = hooke("up")
    with again.ready() as client:
        first, second = sorted(runs(client, experiment), key=lambda run: run["number"])
        assert first["state"] == "cancelled", "ended by order, and told so before the API went"
        assert second["state"] != "cancelled", "what was queued waits for the next start"


def assert_neither_home_nor_port_is_had_twice(hooke, up, aside):
    """A second start on a home is told where the first one is, which goes on."""
    up.output.rename(aside)  # the second one writes a file of the same name
    second = hooke("up", home=up.home.name)
    assert second.process.wait(LIMIT) == 1
    assert f"already runs at {up.url}" in second.said()
    up.output, port = aside, int(up.url.rpartition(":")[2])
    other = hooke("up", home="other", port=port)
    assert other.process.wait(LIMIT) == 1
    assert f"port {port} of 127.0.0.1 is taken" in other.said()
    assert "--port" in other.said()
    assert httpx.get(f"{up.url}/livez", trust_env=False).status_code == 200


def test_two_instances_do_not_disturb_one_another(hooke, tmp_path):
    """Also when one of them, which has nothing to do, is ended, and when a third one wants what the other has."""
    one, two = hooke("up", home="one", port=None), hooke("up", home="two", port=None)
    with one.ready() as first, two.ready() as second:
        assert one.url != two.url
        experiment = submit(first, QUICK)
        assert second.get(f"/experiments/{experiment}").status_code == 404
        assert second.get("/experiments", headers={"authorization": f"Bearer {one.token}"}).status_code == 401
        assert_idle_one_ends(two, signal.SIGTERM)
        assert_neither_home_nor_port_is_had_twice(hooke, one, tmp_path / "first.out")
        wait_for(lambda: set(states(first, experiment)) == {"succeeded"}, "the end of the run")
    assert_idle_one_ends(one, signal.SIGHUP)


def left(parts, home):
    """Return the commands of those parts that live on."""
    living = processes(home)
    return {name: living[pid] for name, (pid, _) in parts.items() if pid in living}


def test_a_killed_instance_takes_its_parts_along_and_the_next_start_adopts_its_runs(hooke):
    up = hooke("up")
    with up.ready() as client:
        experiment = submit(client, ENDLESS)
        until_training(client, experiment)
    up.process.kill()
    up.process.wait()
    parts = Note.read(up.home / "up.json").parts
    assert set(parts) == {"redis", "api", "agent"}
    try:
        wait_for(lambda: not left(parts, up.home), "the end of the parts")
    except AssertionError as error:
        logs = "\n".join(path.read_text()[-3000:] for path in up.home.rglob("*.log"))
        raise AssertionError(f"{error}: {left(parts, up.home)}\n{logs}") from error
    ranks = [pid for pid, command in processes(up.home).items() if "hooke.loop.train" in command]
    assert ranks, "training goes on"

    again = hooke("up")
    with again.ready() as client:
        assert again.url == up.url
        assert "adopted" in again.said()
        before = max(run["samples"] for run in runs(client, experiment))
        wait_for(lambda: max(run["samples"] for run in runs(client, experiment)) > before, "more samples")
        assert set(ranks) <= set(processes(again.home)), "the same processes"
        assert sorted(run["attempt"] for run in runs(client, experiment))[-1] == 1, "no second attempt"
    assert again.end(signal.SIGINT) == 0
    assert processes(again.home) == {}


def test_a_part_that_dies_is_started_again(hooke):
    up = hooke("up")
    with up.ready() as client:
        for name in ("redis", "api", "agent"):
            pid = part(up, name)
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: part(up, name) not in (None, pid), f"{name} to be started again")  # noqa: B023 - called now
            assert f"{name} was killed by SIGKILL; it starts again" in up.said()
        wait_for(lambda: answers(client), "answers")
        experiment = submit(client, QUICK)
        wait_for(lambda: set(states(client, experiment)) == {"succeeded"}, "the end of a run")


def part(up, name):
    return Note.read(up.home / "up.json").parts.get(name, (None, None))[0]


def pending(pid, number):
    """Return whether a signal was sent to a process and has not interrupted it yet."""
    status = Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) & 1 << number - 1 for mask in re.findall(r"^(?:Sig|Shd)Pnd:\s*(\w+)", status, re.M))


def answers(client):
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_asked_twice_it_ends_without_grace(hooke):
    """The agent, which ends first, does not listen: with grace, the run would be told to end after 5 s."""
    up = hooke("up")
    with up.ready() as client:
        until_running(client, submit(client, ENDLESS))
    os.kill(part(up, "agent"), signal.SIGSTOP)
    up.process.send_signal(signal.SIGINT)
    wait_for(lambda: not pending(up.process.pid, signal.SIGINT), "the first signal to arrive")
    assert up.end(signal.SIGINT) == 0
    assert processes(up.home) == {}
    again = hooke("up")
    with again.ready() as client:
        (experiment,) = (item["id"] for item in client.get("/experiments").json()["items"])
        wait_for(lambda: any(run["attempt"] == 2 for run in runs(client, experiment)), "what the next start tells")
