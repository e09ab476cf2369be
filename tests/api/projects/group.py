"""A project with experiments in every state, its member, and others who do not reach it."""

from collections.abc import Callable
from dataclasses import dataclass

import httpx

from tests.api.hands import ALONE, SPEC, Service, lines, scored, start, steps
from tests.api.persons import Person, bearing, person
from tests.api.test_ingest import rank
from tests.waiting import LIMIT

HIDDEN = ALONE | {
    "name": "hidden-name",
    "variants": [{"name": "hidden-variant", "algorithm": "sync-easgd"}],
    "baseline": "hidden-variant",
}
"""Changes that leave one run, with names that nothing else has."""


def project(service: Service, name: str = "secret", **members: str) -> str:
    """Make a project; `members`: name of a user -> role."""
    service.client.post("/projects", json={"name": name}).raise_for_status()
    for user, role in members.items():
        join(service, name, user, role)
    return name


def join(service: Service, name: str, user: str, role: str) -> None:
    service.client.put(f"/projects/{name}/members/{user}", json={"role": role}).raise_for_status()


def submit(client: httpx.Client, into: str | None = None, **changes: object) -> dict:
    """Submit an experiment of one run; its cluster has to be there."""
    query = {} if into is None else {"project": into}
    answer = client.post("/experiments", params=query, json=SPEC | ALONE | changes)
    assert answer.status_code == 201, answer.text
    return answer.json()


@dataclass
class Hidden:
    """What is in a project, and who reaches it."""

    project: str
    member: Person
    """A viewer on the site, and an operator in the project."""
    ended: dict
    deleted: dict
    running: dict
    run: str
    """Of the running one, with points and output."""
    words: tuple[str, ...]
    """What nobody else may read anywhere."""

    def traces(self, text: str) -> list[str]:
        """Return what a text says of the project."""
        return [word for word in self.words if word in text]


def hidden(service: Service) -> Hidden:
    service.hello()
    eva = person(service, "viewer", "eva")
    name = project(service)
    join(service, name, eva.name, "operator")
    made = []
    for _ in range(2):
        made.append(submit(eva.client, name, **HIDDEN))
        service.next().report("starting", "running", "succeeded")
    eva.client.delete(f"/experiments/{made[1]['id']}").raise_for_status()
    running = submit(eva.client, name, **HIDDEN)
    supervisor = service.next()
    supervisor.report("starting", "running")
    supervisor.send(rank(0, start(), steps(1), scored(2, 64, 0.5)), logs=lines(0, 3))
    eva.client.patch(f"/experiments/{running['id']}", json={"add_tags": ["hidden-tag"]}).raise_for_status()
    ids = [each["id"] for each in (*made, running)]
    words = (*ids, supervisor.id, name, eva.name, "hidden-name", "hidden-variant", "hidden-tag")
    return Hidden(name, eva, made[0], made[1], running, supervisor.id, words)


def strangers(service: Service) -> dict[str, httpx.Client]:
    """Return who may most, and does not reach the project."""
    ben = person(service, "operator", "ben")
    dan = person(service, "researcher", "dan")
    project(service, "other", **{dan.name: "operator"})
    machine = person(service, "admin", "root").token("operate", label="machine", machine=True)
    found = {"operator on the site": ben.client, "operator in another project": dan.client}
    return found | {"machine that may operate": bearing(service, machine)}


def streamed(client: httpx.Client, until: str, act: Callable[[], object] | None = None, **query: object) -> str:
    """Return what a stream says until a text is in it, or it ends. `act` is called once it is open."""
    told = ""
    with client.stream("GET", "/events", params=query, timeout=LIMIT) as answer:
        assert answer.status_code == 200
        for part in answer.iter_text():
            told += part
            if act is not None:
                act()
                act = None
            if until in told:
                break
    return told
