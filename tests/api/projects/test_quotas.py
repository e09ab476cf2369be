"""Quotas of projects: points are counted wherever they are, warned of before, and refused with the numbers."""

import pytest
from hooke.spec.events import RankRecords
from hooke_api.models import Chunk, CompactedRun, LogBlock, Run, StoredFilePart
from hooke_api.storage.objects import FOLDER
from sqlalchemy import event, select

from tests.api.conftest import done, scored, start, steps
from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported
from tests.api.hands import ALONE, SPEC, Supervisor
from tests.api.objects.compaction import compact
from tests.api.persons import unique
from tests.api.test_experiments import problem
from tests.api.test_people_commands import hooke, remote

__all__ = ["remote"]

POINTS = 2 * 20 + 2
"""Of a run of two ranks with 20 steps each and two evaluations."""


def submit(service, project: str, status: int = 201, path: str = ""):
    answer = service.client.post(f"/experiments{path}?project={project}", json=SPEC | ALONE)
    assert answer.status_code == status, answer.text
    return answer.json()


def project(service, name: str) -> dict:
    (found,) = [each for each in service.get("/projects")["items"] if each["name"] == name]
    return found


def give(service, name: str, quota: int) -> dict:
    answer = service.client.patch(f"/projects/{name}", json={"quota": quota})
    assert answer.status_code == 200, answer.text
    return answer.json()


def warned(document: dict) -> list[str]:
    return [each["message"] for each in document["warnings"] if "may hold" in each["message"]]


@pytest.fixture
def filled(service):
    """Return a project with one run that has ended, and the run's experiment."""
    name = unique("full")
    service.hello()
    service.client.post("/projects", json={"name": name, "quota": 10**6}).raise_for_status()
    experiment = submit(service, name)
    service.scheduler.look()
    supervisor = Supervisor(service, service.line.launched[-1][1][0])
    supervisor.report("starting", "running")
    first = [start(), steps(1, 20), scored(2, 640, 0.5), scored(3, 1280, 0.6), done(4, step=20)]
    supervisor.send(
        RankRecords(rank=0, records=first), RankRecords(rank=1, records=[start(), steps(1, 20), done(2, step=20)])
    )
    supervisor.report("succeeded")
    return name, experiment


def test_points_are_counted_in_rows_and_in_objects(service, filled):
    name, _ = filled
    assert (project(service, name)["quota"], project(service, name)["points"]) == (10**6, POINTS)
    assert [project(service, "default")[field] for field in ("quota", "points")] == [0, None]
    compact(service)
    assert project(service, name)["points"] == POINTS
    assert give(service, name, 50)["points"] == POINTS


def test_bytes_are_those_of_columns_objects_and_evaluations(service, filled):
    name, experiment = filled

    def size() -> int:
        return project(service, name)["bytes"]

    assert (project(service, name)["quota_bytes"], size()) == (0, None)
    service.client.patch(f"/projects/{name}", json={"quota_bytes": 10**9}).raise_for_status()
    with service.database.read() as session:
        tables, mine = (Chunk, LogBlock, StoredFilePart), Run.experiment_id == experiment["id"]
        rows = [session.scalars(select(each).join(Run, Run.id == each.run_id).where(mine)) for each in tables]
        held = sum(len(row.data) for found in rows for row in found)
    assert size() == held + 2 * 100 > 2 * 20 * 11 * 8
    compact(service)
    run = service.get("/runs", experiment=experiment["id"])["items"][0]["id"]
    with service.database.read() as session:
        key = session.get_one(CompactedRun, run).key
    assert size() == (service.settings.home / FOLDER / key).stat().st_size + 2 * 100
    service.client.patch(f"/projects/{name}", json={"quota_bytes": size()}).raise_for_status()
    refused = service.client.post(f"/experiments?project={name}", json=SPEC | ALONE)
    assert "its quota is" in problem(refused, 409)["detail"]
    service.client.patch(f"/projects/{name}", json={"quota_bytes": size() * 5 // 4}).raise_for_status()
    (warning,) = warned(submit(service, name, 200, "/dry-run"))
    assert "kB" in warning or " B of the " in warning


@ONE_KIND
def test_it_is_warned_of_from_four_fifths_on(service, filled):
    name, _ = filled
    give(service, name, POINTS * 5 // 4 + 1)
    assert warned(submit(service, name, 200, "/dry-run")) == []
    quota = POINTS * 5 // 4
    give(service, name, quota)
    said = f"The project {name} holds {POINTS} of the {quota} points that it may hold"
    for told in (submit(service, name, 200, "/dry-run"), submit(service, name)):
        (warning,) = warned(told)
        assert warning.startswith(said)
    assert warned(submit(service, "default")) == []


def test_what_would_be_put_into_it_is_refused_with_the_numbers_and_running_runs_go_on(service, filled):
    name, experiment = filled
    running = submit(service, name)
    service.scheduler.look()
    supervisor = Supervisor(service, service.line.launched[-1][1][0])
    supervisor.report("starting", "running")
    elsewhere = submit(service, "default")
    give(service, name, POINTS)
    said = f"the project {name} holds {POINTS} points; its quota is {POINTS}: delete experiments"
    refused = [
        service.client.post(f"/experiments/dry-run?project={name}", json=SPEC | ALONE),
        service.client.post(f"/experiments?project={name}", json=SPEC | ALONE),
        service.client.put(f"/experiments/{elsewhere['id']}/project", json={"project": name}),
        service.client.post(f"/experiments/{experiment['id']}/extension", json={"seeds": 1}),
        service.client.post(
            f"/experiments/import?project={name}",
            content=exported(service, experiment["id"]),
            headers={"content-type": "application/zip"},
        ),
    ]
    for answer in refused:
        assert problem(answer, 409)["detail"].startswith(said)
    assert service.client.get(f"/experiments/{running['id']}").status_code == 200
    supervisor.send(RankRecords(rank=0, records=[start(), steps(1, 5)]))
    assert project(service, name)["points"] == POINTS + 5, "what was submitted is done"
    give(service, name, 0)
    assert project(service, name)["points"] is None
    submit(service, name)


@ONE_KIND
def test_nobody_waits_for_its_sums(service, filled):
    """They take a while where a project holds much, and others wait for a transaction that writes."""
    name, experiment = filled
    elsewhere, summed = submit(service, "default"), []

    def note(connection, _cursor, statement, *_rest):
        if "sum(" in statement and "project_id" in statement:
            summed.append(bool(connection.get_execution_options().get("hooke_write")))

    event.listen(service.database.engine, "before_cursor_execute", note)
    try:
        answers = [
            service.client.post(f"/experiments?project={name}", json=SPEC | ALONE),
            service.client.put(f"/experiments/{elsewhere['id']}/project", json={"project": name}),
            service.client.post(f"/experiments/{experiment['id']}/extension", json={"seeds": 1}),
            service.client.patch(f"/projects/{name}", json={"quota": 10**6}),
        ]
    finally:
        event.remove(service.database.engine, "before_cursor_execute", note)
    assert [answer.is_success for answer in answers] == [True] * len(answers)
    assert len(summed) >= len(answers)
    assert not any(summed)


@ONE_KIND
def test_the_command_line_shows_and_changes_it(remote):
    name = unique("full")
    hooke("projects", "create", name, "--quota", "1000")
    (line,) = [line for line in hooke("projects", "list").splitlines() if name in line]
    assert "0 of 1,000 (0%)" in line
    told = hooke("projects", "change", name, "--quota", "2000")
    kept = "keeps runs by the server's default"
    assert told == f"the project {name} is open, and {kept}, and holds 0 of 2,000 (0%) points\n"
    assert hooke("projects", "change", name, "--quota", "0").endswith("keeps runs by the server's default\n")
    assert "Input should be" in hooke("projects", "change", name, "--quota", "-1", status=1)
