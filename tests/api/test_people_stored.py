"""What of users and of the audit trail depends on the database: locks, triggers, transactions, what is stored."""

import csv
import io
import json
import re
import threading
from datetime import timedelta

import pytest
from hooke_api.models import Base, BrowserSession, Cluster, TrailEntry, now
from hooke_api.people import sessions
from hooke_api.storage import trail
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DatabaseError

from tests.api.persons import PASSWORD, browser, invite, person, unique
from tests.api.test_audit_trail import entries, told
from tests.api.test_experiments import problem
from tests.api.test_people import accept


def test_of_two_who_accept_an_invitation_at_a_time_one_does(service):
    secret = invite(service, unique("ana"))
    found = []
    threads = [threading.Thread(target=lambda: found.append(accept(service, secret))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in found) == [200, 401, 401, 401]


def test_sessions_end_by_sign_out_by_disuse_and_by_age(service):
    ana = person(service)
    kept = dict(ana.client.cookies)
    assert ana.client.post("/sign-out").status_code == 204
    assert dict(ana.client.cookies) == {}
    ana.client.cookies.update(kept)
    problem(ana.client.get("/me"), 401)
    for column, age in (("used_at", sessions.IDLE), ("created_at", sessions.LONGEST)):
        client = browser(service)
        assert ana.sign_in(client=client).status_code == 200
        with service.database.write() as session:
            session.execute(update(BrowserSession).values({column: now() - age - timedelta(seconds=1)}))
        problem(client.get("/me"), 401)
    client = browser(service)
    assert ana.sign_in(client=client).status_code == 200
    assert service.count(BrowserSession) == 1, "those that have ended are removed"
    assert service.client.post(f"/users/{ana.name}/sign-out").status_code == 204
    problem(client.get("/me"), 401)


def test_no_secret_is_stored(service):
    ana = person(service)
    pending = invite(service, unique("eva"))
    token = ana.token()
    cookie = next(iter(ana.client.cookies.values()))
    rows = []
    with service.database.read() as session:
        for table in Base.metadata.sorted_tables:
            rows += map(repr, session.execute(select(table)))
    stored = "".join(rows)
    assert ana.name in stored
    for secret in (PASSWORD, pending, token, cookie, service.settings.token):
        own = re.sub("^hooke_(invite|token|session)_", "", secret)  # it may have underscores, also near its end
        assert len(own) >= 20 and own not in stored
    listed = ana.client.get("/tokens").text + service.client.get("/users").text + service.client.get("/audit").text
    assert all(secret not in listed for secret in (PASSWORD, pending, token, cookie))


def test_an_entry_is_stored_with_its_change_or_neither_is(service, monkeypatch):
    cluster = unique("hpc")
    service.hello(cluster)
    kept = told(service, cluster)

    def fail(session):
        raise RuntimeError("no room")

    monkeypatch.setattr(trail, "settle", fail)
    assert service.client.post(f"/clusters/{cluster}/drain").status_code == 500
    monkeypatch.undo()
    with service.database.read() as session:
        assert session.get_one(Cluster, cluster).draining is False
    assert told(service, cluster) == kept


@pytest.mark.parametrize("statement", [update(TrailEntry).values(actor="nobody"), delete(TrailEntry)])
def test_nobody_changes_an_entry(service, statement):
    service.hello(unique("hpc"))
    kept = entries(service)
    with pytest.raises(DatabaseError, match="append-only"), service.database.write() as session:
        session.execute(statement)
    assert entries(service) == kept


def test_the_export_has_everything_in_both_forms(service, monkeypatch):
    monkeypatch.setattr("hooke_api.people.audit.TOGETHER", 2)  # several transactions
    cluster = unique("hpc")
    service.hello(cluster)
    for change in ("drain", "resume", "drain"):
        service.client.post(f"/clusters/{cluster}/{change}").raise_for_status()
    shown = entries(service, subject=cluster)
    answer = service.client.get("/audit/export", params={"subject": cluster})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert [json.loads(line) for line in answer.text.splitlines()] == shown
    answer = service.client.get("/audit/export", params={"subject": cluster, "kind": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["action"] for row in rows] == [entry["action"] for entry in shown]
    assert json.loads(rows[1]["after"]) == {"draining": True}
    assert json.loads(rows[0]["after"]) == {"agent": None, "place": None, "token": None}
    assert rows[0]["before"] == "", "there was no cluster"
