"""Records that cannot be stored: set aside, counted and shown, and none behind them is kept back."""

import base64
import json
import math

import numpy as np
import pytest
from hooke.spec.events import Checkpointed
from hooke_api.models import StoredEvaluation

from tests.api.databases import ONE_KIND
from tests.api.hands import done, lines, start, steps
from tests.api.test_experiments import pointers
from tests.api.test_ingest import everything, rank, series


def broken(**columns):
    document = json.loads(steps(1).model_dump_json())
    for name, value in columns.items():
        if value is None:
            del document["columns"][name]
        else:
            document["columns"][name] = value
    return document


FAULTS = {
    "missing column": (broken(loss=None), "/columns/loss"),
    "unknown column": (broken(colour="AAAA"), "/columns/colour"),
    "not base64": (broken(loss="%%"), "/columns/loss"),
    "too short": (broken(clock="AAAAAAAAAAA="), "/columns/clock"),
    "wrong n": (broken() | {"n": 5}, "/columns/step"),
    "n of zero": (broken() | {"n": 0}, "/n"),
    "unknown kind": ({"kind": "dance", "seq": 1}, ""),
    "unknown field": (broken() | {"x/y": 1}, "/x~1y"),
    "NaN clock": (broken(clock=base64.b64encode(np.full(4, np.nan).tobytes()).decode()), "/columns/clock"),
    "negative samples": (broken(samples=base64.b64encode(np.full(4, -1).tobytes()).decode()), "/columns/samples"),
    "NaN in done": (json.loads(done(1).model_dump_json()) | {"wall": math.nan}, "/wall"),
    "phases of done": (json.loads(done(1).model_dump_json()) | {"phases": {}}, "/phases"),
    "a number of no table": (json.loads(start(seq=1).model_dump_json()) | {"pid": 2**70}, "/pid"),
}


@pytest.mark.parametrize("name", FAULTS)
@ONE_KIND
def test_a_record_that_cannot_be_stored_is_set_aside_and_shown(service, name):
    """Those before and after it are stored: one record must not keep back all others for days."""
    record, pointer = FAULTS[name]
    supervisor = service.launch()
    good = [json.loads(each.model_dump_json()) for each in (start(), steps(2))]
    body = {"run": supervisor.id, "attempt": 1, "ranks": [{"rank": 0, "records": [good[0], record, good[1]]}]}
    for _ in range(2):  # also when it is sent again
        answer = supervisor.post(json.dumps(body).encode())
        assert answer.json()["acknowledged"] == {"0": 2}
    run = service.run(supervisor.id)
    (shown,) = run["refusals"]
    assert (run["refused"], shown["attempt"], shown["rank"], shown["seq"]) == (1, 1, 0, 1)
    assert shown["pointer"] == pointer
    assert shown["message"]
    assert series(service, supervisor.id, 0, "step") == [[1, 2, 3, 4]]
    assert service.count(StoredEvaluation) == 0


@ONE_KIND
def test_what_has_no_number_has_pointers_and_stores_nothing(service):
    supervisor = service.launch()
    before = everything(service)
    good = json.loads(start().model_dump_json())
    for record, pointer in (
        (broken() | {"seq": -1}, "/ranks/0/records/1/seq"),
        (broken() | {"seq": 2**63}, "/ranks/0/records/1"),
        ({"kind": "dance"}, "/ranks/0/records/1"),
        (0, "/ranks/0/records/1"),
    ):
        body = {"run": supervisor.id, "attempt": 1, "ranks": [{"rank": 0, "records": [good, record]}]}
        answer = supervisor.post(json.dumps(body).encode())
        assert any(found.startswith(pointer) for found in pointers(answer)), answer.text
    assert everything(service) == before


def test_a_line_that_cannot_be_stored_is_set_aside(service):
    supervisor = service.launch()
    plain = [json.loads(line.model_dump_json()) for line in lines(0, 3)]
    plain[1]["text"] = "x" * 8193
    answer = supervisor.post(json.dumps({"run": supervisor.id, "attempt": 1, "logs": plain}).encode())
    assert answer.json()["logs"] == 2
    assert [line["text"] for line in service.get(f"/runs/{supervisor.id}/logs")["lines"]] == ["line 0", "line 2"]
    (shown,) = service.run(supervisor.id)["refusals"]
    assert (shown["rank"], shown["seq"], shown["pointer"]) == (None, 1, "/text")


@pytest.mark.parametrize("fault", [{"state": "dancing"}, {"why": 7}, {"when": 1}], ids=str)
@ONE_KIND
def test_a_report_that_cannot_be_read_keeps_back_neither_records_nor_later_reports(service, fault):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    told = [json.loads(report.model_dump_json()) for report in supervisor.reports]
    reports = [*told, told[1] | fault, told[1] | {"state": "failed_user"}]
    records = [json.loads(steps(0).model_dump_json())]
    body = {"run": supervisor.id, "attempt": 1, "ranks": [{"rank": 0, "records": records}], "reports": reports}
    for _ in range(2):  # also when it is sent again
        answer = supervisor.post(json.dumps(body).encode())
        assert answer.status_code == 200, answer.text
        assert (answer.json()["acknowledged"], answer.json()["reports"]) == ({"0": 0}, 4)
    run = service.run(supervisor.id)
    assert run["state"] == "failed_user"
    (shown,) = run["refusals"]
    assert (run["refused"], shown["rank"], shown["seq"]) == (1, None, 2)
    assert shown["pointer"] == f"/reports/2/{next(iter(fault))}"


def test_the_record_that_the_database_refuses_is_found_among_others(service):
    """What only the database can tell: PostgreSQL holds no zero byte and no hash of 65 digits; SQLite does."""
    supervisor = service.launch()
    records = [start(), *(steps(seq, n=1, first=seq) for seq in range(1, 20))]
    records[13] = Checkpointed(seq=13, step=1, samples=1, path="a\0b", bytes=1, sha256="0" * 65)
    answer = supervisor.send(rank(0, *records), rank(1, start()), logs=lines(0, 5))
    assert (answer.acknowledged, answer.logs) == ({0: 19, 1: 0}, 4)
    refused = service.run(supervisor.id)["refusals"]
    (stored,) = series(service, supervisor.id, 0, "step")
    assert stored == [step for step in range(1, 20) if step != 13]
    if service.settings.url.startswith("postgresql"):
        assert [(one["rank"], one["seq"]) for one in refused] == [(0, 13)]


def test_a_clock_that_is_wrong_keeps_nothing_back(service):
    supervisor = service.launch()
    supervisor.report("starting")
    supervisor.reports[0] = supervisor.reports[0].model_copy(update={"unix": 1e30})
    late = lines(0, 1)[0].model_copy(update={"unix": -5.0})
    assert supervisor.send(logs=[late]).logs == 0
    assert service.run(supervisor.id)["state"] == "starting"


@ONE_KIND
def test_only_the_first_refusals_are_kept(service):
    supervisor = service.launch()
    records = [{"kind": "dance", "seq": seq} for seq in range(50)]
    body = {"run": supervisor.id, "attempt": 1, "ranks": [{"rank": 0, "records": records}]}
    assert supervisor.post(json.dumps(body).encode()).json()["acknowledged"] == {"0": 49}
    run = service.run(supervisor.id)
    assert (run["refused"], len(run["refusals"]), run["refusals"][-1]["seq"]) == (50, 20, 19)
