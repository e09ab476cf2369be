"""Traces that no rank writes: none makes an answer fail, or take long."""

import json
import math
import time

import pytest
from hooke.errors import JournalError
from hooke.spec.files import packed
from hooke.trace.reading import parse
from hooke.trace.records import CHANGE, IS_CHANGE, IS_MOVE, IS_OPERATION, MOVE, OPERATION
from hooke_api.models import StoredFilePart

from tests.api.databases import ONE_KIND
from tests.api.timeline.traces import Made, lockstep


def changed(**header):
    made = Made(1)
    made.header |= header
    return made.spend("compute", 1).file()


def without(name):
    made = Made(1)
    del made.header[name]
    return made.spend("compute", 1).file()


def footed(footer):
    return Made(1).spend("compute", 1).file(end=False) + b"\x05" + json.dumps(footer).encode() + b"\n"


def record(data):
    made = Made(1).spend("compute", 1)
    made.records += data
    return made.file()


TOTALS = {"at": 101.0, "phase": "idle", "phases": {}, "hidden": 0.0}
DAMAGED = {
    "no operations": without("operations"),
    "no rank": without("rank"),
    "a rank that is a text": changed(rank="1"),
    "a role that is none": changed(role="spy"),
    "a phase that is none": changed(phases=["sleep"]),
    "a start that is not a number": changed(began="now"),
    "a start that is infinite": changed(began=math.inf),
    "a list of nothing": changed(operations=[]),
    "an operation that is not listed": record(
        OPERATION.pack(IS_OPERATION, 3, 2, 999, 0, -1, 101.0, 102.0, 0, 0, 0, 0)
    ),
    "a phase that is not listed": record(CHANGE.pack(IS_CHANGE, 200, 103.0)),
    "an end that is a list": footed([]),
    "an end without time": footed({"end": {}, "stopped": None, "why": ""}),
    "an end in no phase": footed({"end": TOTALS | {"phase": "sleep"}, "stopped": None, "why": ""}),
    "an end that never comes": footed({"end": TOTALS | {"at": 1e999}, "stopped": None, "why": ""}),
    "a header without end": b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_trace_is_told(name):
    with pytest.raises(JournalError):
        parse(DAMAGED[name], "trace.1")


@ONE_KIND
def test_none_hides_the_others_or_fails(service):
    supervisor = service.launch(trace=True)
    content = {
        "trace.0": lockstep([1.0], [1.0])[0].file(),
        "trace.1": record(OPERATION.pack(IS_OPERATION, 3, 2, 0, 0, -1, 101.0, math.nan, 0, 0, 0, 0)),
    }
    for name, data in content.items():
        supervisor.send(files=[packed(name, 0, data)])
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert [rank["rank"] for rank in found["ranks"]] == [0]
    assert found["complete"] is False and found["span"] == pytest.approx(1.01)
    assert found["remarks"] == ["trace.1 is damaged: a time in it is not a number"]


def test_a_trace_of_another_rank_is_none_of_this_one(service):
    supervisor = service.launch(trace=True)
    one, _ = lockstep([1.0], [1.0])
    supervisor.send(files=[packed("trace.1", 0, one.file())])
    found = service.get(f"/runs/{supervisor.id}/timeline")
    assert (found["ranks"], found["complete"]) == ([], False)


@ONE_KIND
def test_a_rank_that_the_run_has_not_is_refused(service):
    supervisor = service.launch(trace=True)
    body = supervisor.request(files=[packed("trace.2", 0, b"x")]).model_dump_json().encode()
    refused = supervisor.post(body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/files/0/name"
    assert service.count(StoredFilePart) == 0


def test_moves_of_time_that_there_is_not_end_soon():
    """Each would look through all slices: a square of their number."""
    made = Made(0)
    for _ in range(20_000):
        made.spend("compute", 1.0).spend("update", 1.0)
    idle, evaluate = made.header["phases"].index("idle"), made.header["phases"].index("evaluate")
    made.records += MOVE.pack(IS_MOVE, idle, evaluate, 1e9) * 20_000
    began = time.process_time()
    with pytest.raises(JournalError, match="moves more time than it has"):
        parse(made.file(), "trace.0")
    assert time.process_time() - began < 3


@ONE_KIND
def test_samples_that_are_no_numbers_are_left_out(service):
    supervisor = service.launch()
    good = {"unix": 1.0, "host": "h", "ranks": {"0": [1.0, 2.0]}, "network": [1, 2]}
    lines = [
        json.dumps(good),
        json.dumps(good | {"unix": 2.0, "ranks": {"0": [10**400, 0]}}),
        "[" * 50_000,
        json.dumps(good | {"unix": 3.0, "network": [10**400, 0]}),
        json.dumps(good | {"unix": 4.0, "ranks": {"0": [3.0, 2.0]}}),
    ]
    supervisor.send(files=[packed("system", 0, "\n".join(lines).encode())])
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["at"] == [0, 3]
    assert found["processes"][0]["cpu"] == [None, pytest.approx(2 / 3)]
