"""Checkpoints that users fetch: the agent's own code sends real files to a running server."""

import gc
import hashlib
import io
import json
import os
import shutil
import tarfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hooke.cluster import fetching
from hooke.cluster.agent_client import ApiClient, Refused
from hooke.cluster.places import Home
from hooke.spec.events import Checkpointed, RankRecords
from hooke.spec.protocol import FETCHES
from hooke_api.models import Cluster, StoredFetch, TrailEntry, now
from hooke_api.runs import fetch_agents
from hooke_api.runs.fetch_keeper import FetchKeeper
from hooke_api.scheduling import fetches
from hooke_api.storage import fetched
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, start
from tests.api.persons import person
from tests.api.test_deleting import let_undo_end, purge
from tests.api.test_experiments import problem

PIECE = 1000
MIB = 1 << 20
SAMPLES = 6000
ONE = "agt_" + 32 * "1"


class Site:
    """The home of an agent with a checkpoint of one run, and the agent's client."""

    def __init__(self, service, path):
        self.service, self.home = service, Home(path / "agent")
        (path / "agent-token").write_text(service.settings.agents)
        self.client = ApiClient(service.url, path / "agent-token", ONE)
        service.hello(agent=ONE)
        service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
        self.supervisor = service.next()
        self.run = self.supervisor.id
        self.folder = self.home.attempt(self.run, 1).path / "checkpoints" / f"{SAMPLES}"
        self.folder.mkdir(parents=True)
        self.contents = {}
        for rank in range(2):
            np.savez(self.folder / f"rank.{rank}.npz", params=np.arange(700 + 100 * rank, dtype="f4"))
            self.contents[f"rank.{rank}.npz"] = (self.folder / f"rank.{rank}.npz").read_bytes()
        (self.folder / "complete.json").write_text('{"ranks": 2, "identity": "x"}')
        self.report(range(2))

    def report(self, ranks, seq=1):
        self.supervisor.tell("starting", "running")
        parts = []
        for rank in ranks:
            content = self.contents[f"rank.{rank}.npz"]
            record = Checkpointed(
                **{"seq": seq, "step": 9, "samples": SAMPLES, "path": f"{self.folder}/rank.{rank}.npz"},
                **{"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
            )
            parts.append(RankRecords(rank=rank, records=[start(0, ranks=2), record]))
        self.supervisor.send(*parts)

    def ask(self, client=None, **body):
        return (client or self.service.client).post(f"/runs/{self.run}/fetches", json=body)

    def order(self):
        """Ask, and return the order that the agent gets."""
        assert self.ask().status_code == 202
        self.service.scheduler.look()
        ((cluster, order),) = self.service.line.fetched
        assert cluster == "local"
        return order

    def send(self, order):
        fetching.send(self.home, order, self.client)

    def view(self):
        (found,) = self.service.get(f"/runs/{self.run}/fetches")["items"]
        return found

    def get(self, what, client=None):
        return (client or self.service.client).get(f"/runs/{self.run}/fetches/{self.view()['id']}/{what}")

    def pieces(self):
        return sorted(path.name for path in self.service.app.state.fetched.folder.glob("*/fet_*"))


@pytest.fixture
def site(service, tmp_path, monkeypatch):
    for module in (fetching, fetched, fetch_agents):
        monkeypatch.setattr(module, "PIECE_BYTES", PIECE)
    made = Site(service, tmp_path)
    yield made
    made.client._client.close()
    shutil.rmtree(service.app.state.fetched.folder, ignore_errors=True)


def why(site, order):
    site.send(order)
    found = site.view()
    assert found["state"] == "failed"
    return found["why"]


def test_what_is_downloaded_is_what_the_ranks_wrote(site, tmp_path):
    order = site.order()
    waiting = site.view()
    assert (waiting["state"], waiting["received"]) == ("waiting", 0)
    assert waiting["size"] == sum(map(len, site.contents.values()))
    site.send(order)
    found = site.view()
    assert (found["state"], found["received"], found["why"]) == ("ready", found["size"], "")
    answer = site.get("checkpoint.tar")
    assert int(answer.headers["content-length"]) == len(answer.content)
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path / "got", filter="data")
    got = tmp_path / "got" / "checkpoints" / f"{SAMPLES}"
    assert {each.name: each.read_bytes() for each in got.iterdir()} == {
        each.name: each.read_bytes() for each in site.folder.iterdir()
    }
    for name, content in site.contents.items():
        assert site.get(f"files/{name}").content == content
    assert json.loads(site.get("files/complete.json").content)["ranks"] == 2
    assert "rank.0.npz" in problem(site.get("files/token"), 404)["detail"]


@ONE_KIND
def test_a_user_who_asks_twice_gets_the_same_one(site):
    site.send(site.order())
    again = site.ask(attempt=1, samples=SAMPLES).json()
    assert (again["id"], again["state"]) == (site.view()["id"], "ready")
    assert "no checkpoint at 7" in problem(site.ask(samples=7), 409)["detail"]


def test_an_agent_that_was_interrupted_goes_on_where_it_was(site, monkeypatch):
    """The API counts what it has stored, so neither a new agent nor a restarted API sends a piece twice."""
    order, sent = site.order(), []
    real = site.client.fetch_piece

    def piece(fetch, name, at, content):
        if len(sent) == 2:
            raise Refused("the agent ends")
        sent.append((name, at))
        return real(fetch, name, at, content)

    monkeypatch.setattr(site.client, "fetch_piece", piece)
    with pytest.raises(Refused):
        site.send(order)
    assert (site.view()["state"], site.view()["received"]) == ("sending", 2 * PIECE)
    again = []
    monkeypatch.setattr(site.client, "fetch_piece", lambda *each: again.append(each[1:3]) or real(*each))
    site.send(order)
    assert site.view()["state"] == "ready"
    assert not set(sent) & set(again)
    assert site.get("files/rank.1.npz").content == site.contents["rank.1.npz"]


@ONE_KIND
def test_a_piece_that_comes_twice_or_from_elsewhere_changes_nothing(site):
    order = site.order()
    content = site.contents["rank.0.npz"]
    problem(post(site, order.id, "rank.0.npz", 0, content[:PIECE]), 422)  # it was not announced
    site.client.fetch_begin(fetching.FetchBegin(id=order.id, complete="{}"))
    for at, known in ((0, PIECE), (0, PIECE), (2 * PIECE, PIECE)):
        told = site.client.fetch_piece(order.id, "rank.0.npz", at, content[at : at + PIECE])
        assert told.stored["rank.0.npz"] == known
    problem(post(site, order.id, "rank.0.npz", PIECE, content[:7]), 422)
    problem(post(site, order.id, "../../token", 0, content[:PIECE]), 422)
    problem(post(site, order.id, "rank.0.npz", PIECE, content[:PIECE], agent="agt_" + 32 * "2"), 409)
    problem(site.service.agent.post("/agents/fetch-end", json={"id": order.id, "agent": ONE}), 422)
    assert site.view()["state"] == "sending"


def post(site, fetch, name, start, content, agent=ONE):
    asked = {"fetch": fetch, "name": name, "start": start, "agent": agent}
    return site.service.agent.post("/agents/fetch-piece", params=asked, content=content)


@ONE_KIND
def test_a_file_that_is_not_what_its_rank_wrote_is_not_given_out(site):
    order = site.order()
    changed = bytearray(site.contents["rank.1.npz"])
    changed[-1] ^= 1
    (site.folder / "rank.1.npz").write_bytes(changed)
    assert "rank.1.npz is not what its rank wrote" in why(site, order)
    assert "is failed, not ready: rank.1.npz" in problem(site.get("checkpoint.tar"), 409)["detail"]
    FetchKeeper(site.service.database, site.service.settings).look()
    assert site.pieces() == []


LINKS = {
    "a file that is a link": lambda folder, secret: relink(folder / "rank.0.npz", secret),
    "the mark that is a link": lambda folder, secret: relink(folder / "complete.json", secret),
    "the folder that is a link": lambda folder, secret: relink(folder, secret.parent),
    "a folder above that is a link": lambda folder, secret: relink(folder.parent, secret.parent),
}


def relink(path, target):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)


@ONE_KIND
@pytest.mark.parametrize("case", LINKS)
def test_no_link_is_followed(site, tmp_path, case):
    """Users' code writes in these folders, and the agent may read what users may not."""
    order = site.order()
    elsewhere = tmp_path / "elsewhere" / f"{SAMPLES}"
    shutil.copytree(site.folder, elsewhere)
    secret = elsewhere / ("complete.json" if "mark" in case else "rank.0.npz")
    LINKS[case](site.folder, secret)
    assert "links are not followed" in why(site, order)
    assert site.pieces() == []


@ONE_KIND
def test_what_is_no_file_is_not_waited_for(site):
    order = site.order()
    (site.folder / "rank.0.npz").unlink()
    os.mkfifo(site.folder / "rank.0.npz")
    assert "not a plain file" in why(site, order)


@ONE_KIND
def test_a_checkpoint_that_was_deleted_meanwhile(site, monkeypatch):
    """What has begun is sent from the open files; what has not says that it is not there."""
    order = site.order()
    begin = site.client.fetch_begin
    monkeypatch.setattr(site.client, "fetch_begin", lambda said: shutil.rmtree(site.folder) or begin(said))
    site.send(order)
    assert site.view()["state"] == "ready"
    assert site.get("files/rank.0.npz").content == site.contents["rank.0.npz"]
    site.service.client.delete(f"/runs/{site.run}/fetches/{order.id}").raise_for_status()
    FetchKeeper(site.service.database, site.service.settings).look()
    site.service.line.fetched.clear()
    assert "is not there: an attempt keeps its newest two" in why(site, site.order())


@ONE_KIND
def test_one_that_is_being_written_is_not_sent(site):
    site.contents["rank.1.npz"] += b"more"
    (site.folder / "complete.json").unlink()
    site.report([1], seq=2)
    assert "is not there" in why(site, site.order())


def test_a_cancelled_one_ends_and_leaves_nothing(site, monkeypatch):
    order, sent = site.order(), []
    real = site.client.fetch_piece

    def piece(*each):
        sent.append(each)
        if len(sent) == 3:
            path = f"/runs/{site.run}/fetches/{order.id}"
            assert site.service.client.delete(path).status_code == 204
        return real(*each)

    monkeypatch.setattr(site.client, "fetch_piece", piece)
    with pytest.raises(Refused, match="not wanted any more"):
        site.send(order)
    assert (len(sent), site.view()["state"]) == (3, "cancelled")
    FetchKeeper(site.service.database, site.service.settings).look()
    assert site.pieces() == []
    problem(site.get("checkpoint.tar"), 409)


@ONE_KIND
def test_roles_and_the_audit_trail(site):
    site.send(site.order())
    viewer, other = person(site.service, "viewer"), person(site.service, "researcher")
    for what in ("checkpoint.tar", "files/rank.0.npz"):
        problem(site.get(what, viewer.client), 403)
        assert site.get(what, other.client).status_code == 200
    problem(site.ask(viewer.client), 403)
    assert site.ask(other.client).json()["state"] == "ready"
    path = f"/runs/{site.run}/fetches/{site.view()['id']}"
    problem(other.client.delete(path), 403)  # the owner asked for it
    with site.service.database.read() as session:
        told = session.execute(select(TrailEntry.actor, TrailEntry.action).order_by(TrailEntry.id)).all()
    mine = [tuple(each) for each in told if "fetch" in each.action]
    assert ("owner", "fetch_checkpoint") in mine
    assert mine.count((other.name, "download_fetch")) == 1
    assert mine.count((other.name, "download_fetched_file")) == 1


@ONE_KIND
@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"fetch_limit": 1000}, "this server fetches at most"),
        ({"fetches_of_project_limit": 1000}, "of this project have 0.0 MiB"),
        ({"fetches_limit": 1000}, "of all projects have 0.0 MiB"),
        ({"disk_warning": 2**60}, "the disk of the server has"),
    ],
)
def test_limits(site, monkeypatch, limit, said):
    state = site.service.app.state
    monkeypatch.setitem(state._state, "settings", state.settings.model_copy(update=limit))
    assert said in problem(site.ask(), 409)["detail"]


@ONE_KIND
def test_clusters_that_cannot(site):
    with site.service.database.write() as session:
        session.execute(update(Cluster).values(protocol=FETCHES - 1))
    assert "of an earlier version" in problem(site.ask(), 409)["detail"]


def test_an_order_is_repeated_until_the_agent_is_heard_and_given_up_after_a_time(site):
    service = site.service
    order = site.order()
    service.scheduler.look()
    assert len(service.line.fetched) == 1
    age(service, asked_at=fetches.AGAIN)
    service.scheduler.look()
    assert [each.id for _, each in service.line.fetched] == [order.id] * 2
    keeper = FetchKeeper(service.database, service.settings)
    keeper.look()
    assert site.view()["state"] == "waiting"
    age(service, created_at=fetches.WAIT_LIMIT)
    keeper.look()
    assert (site.view()["state"], "did not begin within 60 min" in site.view()["why"]) == ("failed", True)


def age(service, **columns):
    changed = {name: now() - by - timedelta(seconds=1) for name, by in columns.items()}
    with service.database.write() as session:
        session.execute(update(StoredFetch).values(changed))


@ONE_KIND
def test_one_that_expired_is_removed_and_a_damaged_one_is_not_given_out(site):
    site.send(site.order())
    left = site.pieces()
    assert left
    (piece,) = site.service.app.state.fetched.folder.glob(f"*/{left[0]}")
    piece.unlink()
    assert "fetch it again" in problem(site.get("checkpoint.tar"), 409)["detail"]
    age(site.service, expires_at=timedelta(0))
    FetchKeeper(site.service.database, site.service.settings).look()
    assert (site.pieces(), site.service.count(StoredFetch)) == ([], 0)


@ONE_KIND
def test_pieces_go_with_a_purged_experiment(site):
    site.send(site.order())
    site.supervisor.report("succeeded")
    (experiment,) = site.service.get("/experiments")["items"]
    site.service.client.delete(f"/experiments/{experiment['id']}").raise_for_status()
    problem(site.service.client.get(f"/runs/{site.run}/fetches"), 404)
    let_undo_end(site.service)
    purge(site.service)
    assert (site.pieces(), site.service.count(StoredFetch)) == ([], 0)


@ONE_KIND
def test_pieces_are_not_held_in_memory(site, monkeypatch):
    """Not even until garbage is collected: requests, answers and their parts refer to one another."""
    for module in (fetching, fetched, fetch_agents):
        monkeypatch.setattr(module, "PIECE_BYTES", MIB << 2)
    sent, seen = 64, []
    begun = site.client.fetch_begin
    monkeypatch.setattr(site.client, "fetch_begin", lambda said: seen.append(resident()) or begun(said))
    site.contents["rank.0.npz"] = os.urandom(MIB) * sent
    (site.folder / "rank.0.npz").write_bytes(site.contents["rank.0.npz"])
    site.report([0], seq=2)
    del site.contents["rank.0.npz"]
    gc.disable()
    try:
        site.send(site.order())
    finally:
        gc.enable()
    assert site.view()["state"] == "ready"
    assert resident() - seen[0] < sent * MIB / 2


def resident():
    """Bytes of this process, which is agent and server, that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
