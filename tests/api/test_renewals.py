"""Tokens of agents expire, and their agents renew them without being cut off."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hooke.cluster.agent_client import ApiClient, Refused
from hooke.cluster.agent_token import NAME
from hooke.cluster.hello import Heartbeat
from hooke.spec.events import AgentHello
from hooke.spec.protocol import RENEW
from hooke_api.base.errors import Unauthorized
from hooke_api.clusters import registration, renewals, tokens
from hooke_api.clusters import service as clusters
from hooke_api.clusters.renewals import GRACE
from hooke_api.clusters.tokens import AgentCaller
from hooke_api.clusters.tokens import make as make_token
from hooke_api.experiments.purging import Purger
from hooke_api.models import AccessToken, BrowserSession, Cluster, ClusterToken
from hooke_api.storage.database import Database
from sqlalchemy import delete, select, text, update

from tests.api.databases import ONE_KIND, fresh_database
from tests.api.hands import HELLO
from tests.api.test_joining import ONE, detail, hello, make
from tests.waiting import LIMIT, wait_for


def shift(service, token: str, days: float) -> None:
    """Let days of a token pass."""
    with service.database.write() as session:
        row = session.get_one(ClusterToken, token)
        row.created_at -= timedelta(days=days)
        if row.expires_at is not None:
            row.expires_at -= timedelta(days=days)


def renew(service, token: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{service.url}/api/v1/agents/token", headers=headers, timeout=LIMIT)


def listed(service) -> list[dict]:
    return service.get("/clusters/hpc/tokens")["items"]


def test_a_token_expires_and_is_asked_to_be_renewed_in_the_last_third(service):
    made = make(service, "hpc")
    lifetime = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert lifetime == timedelta(days=90)
    assert RENEW not in hello(service, "hpc", made["token"]).raise_for_status().headers
    shift(service, made["id"], 61)
    assert RENEW in hello(service, "hpc", made["token"]).raise_for_status().headers
    shift(service, made["id"], 29.1)
    said = detail(hello(service, "hpc", made["token"]), 401)
    assert "this token expired at" in said and "hooke clusters token hpc" in said
    assert "expired" in detail(renew(service, made["token"]), 401)


def test_both_tokens_are_valid_until_the_new_one_is_used_and_a_while_longer(service):
    made = make(service, "hpc", "login node")
    shift(service, made["id"], 61)
    answer = renew(service, made["token"])
    assert answer.status_code == 201
    new = answer.json()["token"]
    hello(service, "hpc", made["token"]).raise_for_status()
    former, latter = listed(service)
    assert (latter["label"], latter["renews"], latter["used_at"]) == ("login node", made["id"], None)
    hello(service, "hpc", new).raise_for_status()
    hello(service, "hpc", made["token"]).raise_for_status()  # a request that was under way
    former, latter = listed(service)
    assert datetime.fromisoformat(former["expires_at"]) <= datetime.now(UTC) + GRACE
    assert datetime.fromisoformat(latter["expires_at"]) > datetime.now(UTC) + timedelta(days=89)
    shift(service, made["id"], GRACE / timedelta(days=1))
    assert "expired" in detail(hello(service, "hpc", made["token"]), 401)
    hello(service, "hpc", new).raise_for_status()


@ONE_KIND
def test_a_token_that_was_renewed_by_one_in_use_cannot_be_renewed_again(service):
    made = make(service, "hpc")
    shift(service, made["id"], 61)
    new = renew(service, made["token"]).json()["token"]
    hello(service, "hpc", new).raise_for_status()
    late = hello(service, "hpc", made["token"]).raise_for_status()
    assert RENEW not in late.headers
    assert "`hooke clusters token hpc`" in detail(renew(service, made["token"]), 409)
    assert len(listed(service)) == 2
    hello(service, "hpc", new).raise_for_status()


@ONE_KIND
def test_a_lost_answer_costs_nothing_and_revoking_ends_what_follows(service):
    made = make(service, "hpc")
    lost, new = (renew(service, made["token"]).json()["token"] for _ in range(2))
    assert "revoked" in detail(hello(service, "hpc", lost), 401)
    hello(service, "hpc", new).raise_for_status()
    third = renew(service, new).json()["token"]
    service.client.post(f"/cluster-tokens/{made['id']}/revoke").raise_for_status()
    for token in (made["token"], new, third):
        assert "was revoked" in detail(hello(service, "hpc", token), 401)
    assert {each["revoked_at"] is None for each in listed(service)} == {False}


@ONE_KIND
def test_a_token_of_an_earlier_version_is_renewed_at_once_and_ends(service):
    made = make(service, "hpc")
    with service.database.write() as session:
        session.execute(update(ClusterToken).values(expires_at=None))
    assert RENEW in hello(service, "hpc", made["token"]).raise_for_status().headers
    new = renew(service, made["token"]).json()["token"]
    hello(service, "hpc", new).raise_for_status()
    assert all(each["expires_at"] for each in listed(service))


@ONE_KIND
def test_an_agent_goes_on_with_its_former_token_where_the_server_was_restored(service, tmp_path):
    made, file = make(service, "hpc"), tmp_path / "token"
    file.write_text(made["token"])
    said = AgentHello.model_validate(HELLO | {"name": "hpc", "agent": ONE})
    client = ApiClient(service.url, file, ONE, tmp_path)
    client.hello(said)
    client.renew_token()
    client.hello(said)
    latest = next(each["id"] for each in listed(service) if each["renews"])
    shift(service, latest, 61)
    with service.database.read() as session:
        expires_at = session.get_one(ClusterToken, latest).expires_at
    client.hello(said)
    client.renew_token()
    client.hello(said)
    with service.database.write() as session:  # as a backup from before has it
        session.execute(delete(ClusterToken).where(ClusterToken.renews == latest))
        session.get_one(ClusterToken, latest).expires_at = expires_at
    client.hello(said)
    assert client.renewal_due
    client.renew_token()
    stored = (tmp_path / NAME).read_text()
    with service.database.write() as session:  # neither is accepted: none is forgotten
        session.execute(update(ClusterToken).values(revoked_at=expires_at))
    with pytest.raises(Refused, match="revoked"):
        client.hello(said)
    assert (tmp_path / NAME).read_text() == stored
    client.close()


def one_waits(database) -> bool:
    """Return whether a transaction waits for another one."""
    with database.read() as session:
        waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        return session.scalar(waiting) == 1


@pytest.mark.needs("postgres")
def test_the_first_use_of_a_renewed_token_and_its_revocation_do_not_wait_for_each_other(request, tmp_path):
    """Both change both rows. In another order than the other, PostgreSQL ends one of them after a second."""
    with fresh_database(request, "postgres", tmp_path) as url, closing(Database(url)) as database:
        with database.write() as session:
            first = make_token(session, "hpc", "", "owner", 90)
            row, _ = renewals.renew(session, session.get_one(ClusterToken, first.id))
            second = row.id

        def use() -> None:
            with database.write() as session:
                tokens.confirm(session, AgentCaller("hpc", second), None)

        with ThreadPoolExecutor(1) as threads:
            with database.write() as session:
                session.get_one(ClusterToken, first.id, with_for_update=True)
                using = threads.submit(use)
                wait_for(lambda: one_waits(database), "the first use, for the row of the former token")
                tokens.revoke(session, first.id)
            with pytest.raises(Unauthorized):
                using.result(LIMIT)


@pytest.mark.needs("postgres")
def test_a_report_and_the_removal_of_its_cluster_do_not_wait_for_each_other(request, tmp_path):
    """Both lock the token and the cluster."""
    said, silence = AgentHello.model_validate(HELLO | {"name": "hpc", "agent": ONE}), timedelta(seconds=30)
    with fresh_database(request, "postgres", tmp_path) as url, closing(Database(url)) as database:
        with database.write() as session:
            token = make_token(session, "hpc", "", "owner", 90).id
            registration.hello(session, said, silence, token)

        def remove() -> None:
            with database.write() as session:
                clusters.remove(session, "hpc", silence)

        with ThreadPoolExecutor(1) as threads:
            with database.write() as session:
                tokens.confirm(session, AgentCaller("hpc", token), "hpc")
                removing = threads.submit(remove)
                wait_for(lambda: one_waits(database), "the removal, for the row of the token")
                registration.hello(session, said, silence, token)
            removing.result(LIMIT)
        with database.read() as session:
            assert session.get(Cluster, "hpc") is None
            assert session.get_one(ClusterToken, token).revoked_at is not None


def test_tokens_and_sessions_that_ended_long_ago_are_removed(service):
    old, recent, going_on = (make(service, "hpc")["id"] for _ in range(3))
    asked = {"scope": "read", "days": 1, "machine": True}
    personal = [service.client.post("/tokens", json={"label": n, **asked}).json()["id"] for n in ("old", "new")]
    at = datetime.now(UTC)
    with service.database.write() as session:
        session.get_one(ClusterToken, old).revoked_at = at - timedelta(days=91)
        session.get_one(ClusterToken, recent).expires_at = at - timedelta(days=89)
        session.get_one(AccessToken, personal[0]).expires_at = at - timedelta(days=91)
        for number, days in enumerate((91, 29)):
            began = at - timedelta(days=days)
            marks = {"id": f"ses_{number}", "session_sha256": str(number), "created_at": began, "used_at": began}
            session.add(BrowserSession(**marks))
    purger = Purger(service.database, service.settings)
    purger.look()
    purger.close()
    with service.database.read() as session:
        assert set(session.scalars(select(ClusterToken.id))) >= {recent, going_on}
        assert session.get(ClusterToken, old) is None
        assert [session.get(AccessToken, each) is not None for each in personal] == [False, True]
        assert [session.get(BrowserSession, f"ses_{n}") is not None for n in range(2)] == [False, True]


@ONE_KIND
def test_the_servers_own_token_is_not_renewed(service):
    assert "a file of the server" in detail(renew(service, service.settings.agents), 409)
    assert RENEW not in hello(service, "lab", service.settings.agents).raise_for_status().headers


@ONE_KIND
def test_an_agent_stores_and_uses_the_new_token_and_obeys_another_one_in_its_file(service, tmp_path):
    made, file, home = make(service, "hpc"), tmp_path / "token", tmp_path / "home"
    home.mkdir()
    file.write_text(made["token"] + "\n")
    said = AgentHello.model_validate(HELLO | {"name": "hpc", "agent": ONE})
    clients = [ApiClient(service.url, file, ONE, place) for place in (home, home, tmp_path)]
    client, again, elsewhere = clients
    client.hello(said)
    assert not client.renewal_due
    shift(service, made["id"], 61)
    Heartbeat(client, lambda _: said)._hello(None)
    assert not client.renewal_due
    assert (home / NAME).stat().st_mode & 0o777 == 0o600
    client.hello(said)
    assert [each["used_at"] is not None for each in listed(service)] == [True, True]
    shift(service, made["id"], 1)
    again.hello(said)  # as after a restart
    with pytest.raises(Refused, match="expired"):
        elsewhere.hello(said)
    other = make(service, "hpc")
    file.write_text(other["token"])
    client.hello(said)
    assert [each["used_at"] for each in listed(service) if each["id"] == other["id"]] != [None]
    for each in clients:
        each.close()
