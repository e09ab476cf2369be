"""An import takes as long as its bundle is large: what others do meanwhile does not wait for its end."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from hooke_api.exchange import importing
from hooke_api.models import Experiment

from tests.api.exchange.measured import exported, measured
from tests.api.hands import ALONE, SPEC
from tests.api.persons import bearing, person
from tests.api.test_experiments import problem
from tests.waiting import LIMIT


@contextmanager
def while_importing(service, monkeypatch, bundle, project):
    """Import a bundle whose steps are read at the end of the block; yield the answer to come."""
    reached, go_on, read = threading.Event(), threading.Event(), importing._read

    def held(bundle, name, of_line):
        if name == "steps.jsonl":
            reached.set()
            assert go_on.wait(LIMIT)
        return read(bundle, name, of_line)

    monkeypatch.setattr(importing, "_read", held)
    with ThreadPoolExecutor(1) as thread:
        query = {"project": project}
        answer = thread.submit(service.client.post, "/experiments/import", content=bundle, params=query)
        try:
            assert reached.wait(LIMIT)
            yield answer
        finally:
            go_on.set()


@pytest.fixture
def bundle(service, kind):
    """Return a bundle of the first experiment, and a project `vision` to put it into."""
    if kind == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    made = measured(service, ALONE)
    service.client.post("/projects", json={"name": "vision"}).raise_for_status()
    return exported(service, made["id"])


def test_others_create_experiments_and_change_the_project_meanwhile(service, bundle, monkeypatch):
    """All waited for the number that the import had taken at its begin, and were refused after 30 s."""
    ana, other = person(service), bearing(service, service.settings.token)
    member = f"/projects/vision/members/{ana.name}"
    with while_importing(service, monkeypatch, bundle, "vision") as answer:
        created = other.post("/experiments", json=SPEC | ALONE)
        assert created.status_code == 201, created.text
        other.put(member, json={"role": "viewer"}).raise_for_status()
        other.delete(member).raise_for_status()
        numbers = [each["number"] for each in other.get("/experiments").json()["items"]]
        assert numbers == [2, 1], "of the import, nothing is there"
        assert not answer.done()
    assert (created.json()["number"], answer.result(LIMIT).json()["number"]) == (2, 3)


def test_a_project_that_is_archived_meanwhile_gets_nothing(service, bundle, monkeypatch):
    other = bearing(service, service.settings.token)
    with while_importing(service, monkeypatch, bundle, "vision") as answer:
        other.patch("/projects/vision", json={"archived": True}).raise_for_status()
    assert "is archived" in problem(answer.result(LIMIT), 409)["detail"]
    assert service.count(Experiment) == 1
