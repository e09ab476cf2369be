"""Who reads an answer that is sent for long is asked for again: what is sent late is read late."""

import threading

import httpx
import pytest
from hooke_api.base import reader
from hooke_api.runs import table

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE
from tests.api.persons import bearing, person
from tests.waiting import LIMIT

pytestmark = ONE_KIND


@pytest.fixture
def pages(service, monkeypatch):
    """Return an event; a table of runs has a page for each run, and goes on behind the first when it is set."""
    for _ in range(3):
        service.submit(**ALONE)
    go_on, rows = threading.Event(), table._rows

    def held(database, chosen):
        for n, page in enumerate(rows(database, chosen)):
            assert n == 0 or go_on.wait(LIMIT)
            yield page

    monkeypatch.setattr(table, "PAGE", 1)
    monkeypatch.setattr(table, "_rows", held)
    return go_on


def lines(client, go_on, meanwhile):
    """Return the lines of a table of runs, and whether all of it came; `meanwhile`: what is done in between."""
    found = []
    with client.stream("GET", "/runs.csv") as answer:
        assert answer.status_code == 200
        parts = answer.iter_lines()
        found += [next(parts), next(parts)]
        meanwhile()
        go_on.set()
        try:
            found += parts
        except httpx.RemoteProtocolError:
            return found, False
    return found, True


@pytest.mark.parametrize("seconds", [0.0, 15.0])
def test_a_table_ends_with_the_token_of_its_reader(service, pages, monkeypatch, seconds):
    monkeypatch.setattr(reader, "SECONDS", seconds)
    asked = {"label": "night", "scope": "read", "days": 1, "machine": True}
    made = service.client.post("/tokens", json=asked).json()
    client = bearing(service, made["token"])

    def revoke():
        service.client.post(f"/tokens/{made['id']}/revoke").raise_for_status()

    found, whole = lines(client, pages, revoke)
    assert (len(found), whole) == ((2, False) if seconds == 0 else (4, True))


def test_a_table_ends_where_its_reader_is_let_into_or_out_of_a_project(service, pages, monkeypatch):
    monkeypatch.setattr(reader, "SECONDS", 0.0)
    ana = person(service)
    service.client.post("/projects", json={"name": "vision"}).raise_for_status()
    member = f"/projects/vision/members/{ana.name}"
    found, whole = lines(ana.client, pages, lambda: service.client.put(member, json={"role": "viewer"}))
    assert (len(found), whole) == (2, False)


def test_who_may_read_all_of_it_gets_all_of_it(service, pages, monkeypatch):
    monkeypatch.setattr(reader, "SECONDS", 0.0)
    found, whole = lines(service.client, pages, lambda: None)
    assert (len(found), whole) == (4, True)
