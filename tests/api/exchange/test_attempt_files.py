"""Traces and samples in bundles: carried when asked for, and parts that are no such files are refused."""

import json

import pytest
from hooke.spec.files import PART_BYTES, compressed, packed
from hooke_api.exchange import attempt_files
from hooke_api.exchange.attempt_files import FileRows
from hooke_api.exchange.manifest import BundleError
from hooke_api.models import StoredFilePart
from hooke_api.storage import files
from pydantic import ValidationError

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported, made_of, measured, parts_of
from tests.api.test_experiments import problem
from tests.api.timeline.test_system import lines, sample
from tests.api.timeline.traces import lockstep

LIMIT = 1 << 20


def deliver(service, run, name, *contents, limit=LIMIT):
    """Store a file of the first attempt of a run, in these parts."""
    at = 0
    with service.database.write() as session:
        for content in contents:
            part = packed(name, at, content)
            files.append(session, run, 1, [(part, compressed(part))], limit)
            at += len(content)
            session.flush()


def shown(service, experiment):
    """Return what is shown of the timelines and samples of an experiment, by the number of the run."""
    found = {}
    for run in service.runs(experiment=experiment):
        path = f"/runs/{run['id']}"
        found[run["number"]] = service.get(f"{path}/timeline"), service.get(f"{path}/system")
    return json.loads(json.dumps(found).replace(experiment, "this"))


def test_traces_and_samples_are_carried_when_they_are_asked_for(service):
    made = measured(service)
    first, second, *_ = (run["id"] for run in service.runs(experiment=made["id"]))
    for rank, each in enumerate(lockstep([0.2, 0.1], [0.1, 0.3])):
        content = each.file()
        deliver(service, first, f"trace.{rank}", content[:50], content[50:])
    samples = lines(sample(0), sample(5), sample(10))
    deliver(service, second, "system", samples[:30], samples[30:])
    deliver(service, second, "trace.0", b"x" * 10, b"y" * 10, limit=len(samples) + 10)  # the rest is not kept
    before = shown(service, made["id"])
    assert sorted(len(timeline["ranks"]) for timeline, _ in before.values())[-1] == 2
    assert sorted(len(system["at"]) for _, system in before.values())[-1] == 3
    parts = parts_of(exported(service, made["id"]))
    assert "files.jsonl" not in parts
    bundle = exported(service, made["id"], traces=True)
    view = imported(service, bundle)
    assert shown(service, view["id"]) == before
    assert service.count(StoredFilePart) == 8 + 7, "what was not kept does not travel"
    assert parts_of(exported(service, view["id"], traces=True))["files.jsonl"] == parts_of(bundle)["files.jsonl"]
    assert imported(service, made_of(parts), 200)["id"] == view["id"], "it is the same measurement"


@ONE_KIND
def test_a_part_that_is_wrong_undoes_the_import(service):
    made = measured(service)
    deliver(service, service.runs(experiment=made["id"])[0]["id"], "system", b"a" * 10, b"b" * 10)
    parts = parts_of(exported(service, made["id"], traces=True))
    first, second = parts["files.jsonl"].splitlines(keepends=True)
    answer = service.client.post("/experiments/import", content=made_of(parts | {"files.jsonl": second + first}))
    told = "line 1 of 'files.jsonl': 'system' does not go on at byte 10"
    assert told in problem(answer, 422)["detail"]
    assert service.count(StoredFilePart) == 2


def line(name="trace.0", start=0, content=b"abc", **changes):
    part = packed(name, start, content).model_dump()
    return json.dumps({"run": 1, "attempt": 1} | part | changes).encode()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"run": 2}, "no run with the number 2"),
        ({"attempt": 0}, "'attempt'"),
        ({"attempt": True}, "'attempt'"),
        ({"name": "../etc/passwd"}, "name"),
        ({"name": "trace.00"}, "name"),
        ({"start": 1}, "does not go on at byte 1"),
        ({"start": -1}, "start"),
        ({"size": 2}, "does not hold 2 bytes"),
        ({"size": PART_BYTES + 1}, "size"),
        ({"content": b""}, "does not hold 0 bytes"),
        ({"data": "????"}, "not base64 of zlib"),
        ({"more": 1}, "it is not a part of a file"),
    ],
)
def test_what_is_no_part_of_a_file_is_refused(wrong, words):
    rows = FileRows({1: "run_here"})
    with pytest.raises((BundleError, ValidationError), match=words):
        rows.row(line(**wrong))
    assert rows.row(line())["run_id"] == "run_here"


def test_a_file_cannot_grow_without_end(monkeypatch):
    """A part of zeros is small: what counts are the bytes that a reader would unpack."""
    monkeypatch.setattr(attempt_files, "MOST_BYTES", 10)
    monkeypatch.setattr(attempt_files, "MOST_FILES", 3)
    rows = FileRows({1: "run_here"})
    rows.row(line(content=bytes(6)))
    rows.row(line(start=6, content=bytes(4)))
    rows.row(line(name="system", attempt=2))
    with pytest.raises(BundleError, match="more than 10 bytes"):
        rows.row(line(name="trace.1", content=b"x"))
    rows = FileRows({1: "run_here"})
    for attempt in (1, 2, 3):
        rows.row(line(attempt=attempt))
    with pytest.raises(BundleError, match="more than 3"):
        rows.row(line(attempt=4))
