"""Bundles that are damaged, or made to do harm: each is refused with a sentence, and nothing is stored."""

import base64
import io
import json
import math
import struct
import zipfile

import pytest
from hooke_api.exchange import endpoints, manifest, reading
from hooke_api.models import Attempt, Base, Experiment, LogBlock
from sqlalchemy import func, select

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, imported, made_of, measured, parts_of
from tests.api.test_experiments import problem


def counts(service) -> dict[str, int]:
    """Return the rows of each table that an import writes to."""
    with service.database.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table))
            for table in Base.metadata.sorted_tables
            if table.name not in ("audit_trail", "counters")
        }


def edited(parts: dict[str, bytes], name: str, change) -> bytes:
    """Return a bundle in which the first line of a part has been changed."""
    first, *others = parts[name].splitlines(keepends=True)
    record = json.loads(first)
    record = change(record) or record
    return made_of(parts | {name: b"".join([json.dumps(record).encode() + b"\n", *others])})


def setting(**values):
    def change(record):
        record.update(values)

    return change


def without(name):
    def change(record):
        del record[name]

    return change


def unspecified(name):
    def change(record):
        del record["spec"][name]

    return change


def in_manifest(**values):
    return lambda parts: edited_manifest(parts, values)


def edited_manifest(parts, values) -> bytes:
    told = json.loads(parts["manifest.json"]) | values
    return made_of(parts | {"manifest.json": json.dumps(told).encode()}, mend=False)


def a_path(parts):
    return made_of(parts | {"../../home/token": b"x"})


def a_bomb(parts):
    return made_of(parts | {"steps.jsonl": b"\0" * (70 << 20)})


def many_parts(parts):
    return made_of(parts | {f"{i}.txt": b"" for i in range(200)}, mend=False)


def twice(parts):
    file = io.BytesIO(made_of(parts))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("runs.jsonl", parts["runs.jsonl"])
    return file.getvalue()


def bit_flipped(parts):
    whole = bytearray(made_of(parts))
    at = whole.index(b"steps.jsonl") + 200
    whole[at] ^= 0x10
    return bytes(whole)


def encrypted(parts):
    whole = bytearray(made_of(parts))
    place = whole.index(b"PK\x01\x02")
    struct.pack_into("<H", whole, place + 8, 1)
    return bytes(whole)


def unknown_algorithm(parts):
    told = json.loads(parts["algorithms.json"])
    return made_of(parts | {"algorithms.json": json.dumps(told[1:]).encode()})


def algorithm_of_a_later_version(parts):
    told = json.loads(parts["algorithms.json"])
    told[0]["name"] = "sync-easgd-9"
    return made_of(parts | {"algorithms.json": json.dumps(told).encode()})


def nan_clock(record):
    data = bytearray(base64.b64decode(record["data"]))
    struct.pack_into("<d", data, record["header"]["clock"][0], math.nan)
    record["data"] = base64.b64encode(data).decode()


DAMAGES = {
    "cut off": (lambda parts: made_of(parts)[:-300], "cut off"),
    "empty": (lambda parts: b"", "it is not a zip file"),
    "another file": (lambda parts: b"PK" + b"x" * 500, "it is not a zip file"),
    "bit flipped": (bit_flipped, "damaged"),
    "wrong checksum": (
        lambda parts: made_of(parts | {"evaluations.jsonl": parts["evaluations.jsonl"][:-1]}, mend=False),
        "the checksum of 'evaluations.jsonl'",
    ),
    "a part is missing": (
        lambda parts: made_of({name: text for name, text in parts.items() if name != "totals.jsonl"}),
        "it lacks 'totals.jsonl'",
    ),
    "no manifest": (lambda parts: made_of({"runs.jsonl": b""}, mend=False), "not a bundle of an experiment"),
    "path traversal": (a_path, "it has a part '../../home/token', which no bundle has"),
    "bomb": (a_bomb, "more than 100 times as many"),
    "many parts": (many_parts, "too many parts"),
    "a part twice": (twice, "has the part 'runs.jsonl' twice"),
    "encrypted": (encrypted, "encrypted"),
    "newer version": (in_manifest(version=2), "the format has version 2, and this Hooke reads up to 1"),
    "another format": (in_manifest(format="zip"), "'manifest.json': format"),
    "unknown algorithm": (unknown_algorithm, "the algorithm 'sync-easgd' of its variant 'sync' is unknown"),
    "algorithm of a later version": (algorithm_of_a_later_version, "unknown to this one"),
}
LINES = {
    "a run that waits": ("runs.jsonl", setting(state="queued"), "a run that is queued has not ended"),
    "a column that is missing": ("runs.jsonl", without("samples"), "line 1 of 'runs.jsonl': 'samples' is missing"),
    "a column of a later version": ("runs.jsonl", setting(new=1), "it has 'new', which this version does not"),
    "a text for a number": ("evaluations.jsonl", setting(clock="1"), "line 1 of 'evaluations.jsonl': 'clock'"),
    "a number that does not fit": ("evaluations.jsonl", setting(samples=2**63), "does not fit"),
    "a number that is none": ("evaluations.jsonl", setting(clock=float("nan")), "NaN is not a JSON number"),
    "a zero byte": ("transitions.jsonl", setting(why="a\0b"), "zero byte"),
    "half of a pair": ("transitions.jsonl", setting(why="\ud800"), "surrogates not allowed"),
    "a list for a row": ("attempts.jsonl", lambda record: [record], "it is not an object"),
    "a run that is not there": ("totals.jsonl", setting(run=99), "no run with the number 99"),
    "a column outside the data": (
        "steps.jsonl",
        lambda record: record["header"].update(loss=[10**9, "<f4"]),
        "'data' ends within the column 'loss'",
    ),
    "a column of another type": (
        "steps.jsonl",
        lambda record: record["header"].update(loss=[0, "|O8"]),
        "the column 'loss' is of another type",
    ),
    "a clock that is not a number": (
        "steps.jsonl",
        nan_clock,
        "'data' has a value of 'clock' that is not a number",
    ),
    "other workers than specified": ("runs.jsonl", setting(workers=3), "not those of its specification"),
    "a variant that is not there": ("runs.jsonl", setting(variant="other"), "no variant 'other'"),
    "a host that is not there": ("runs.jsonl", setting(host="other"), "no cluster 'local' on 'other'"),
    "another algorithm": ("runs.jsonl", setting(algorithm="sgd"), "'sgd' is unknown, or not that of its variant"),
    "a specification that is none": ("runs.jsonl", unspecified("workload"), "workload"),
    "staleness that is none": ("totals.jsonl", setting(staleness={"x": 1}), "not a table from staleness"),
    "a cause that is none": ("transitions.jsonl", setting(cause="moon"), "'cause'"),
    "an experiment without a name": ("experiment.json", unspecified("name"), "spec/name"),
    "a time without zone": ("experiment.json", setting(created_at="2026-01-01T00:00:00"), "created_at"),
}


@ONE_KIND
def test_damage_is_told_and_leaves_nothing(service):
    made = measured(service)
    parts = parts_of(exported(service, made["id"], logs=True))
    before = counts(service)
    cases = {name: (make(parts), said) for name, (make, said) in DAMAGES.items()}
    cases |= {name: (edited(parts, part, change), said) for name, (part, change, said) in LINES.items()}
    wrong = {}
    for name, (bundle, said) in cases.items():
        answer = service.client.post("/experiments/import", content=bundle)
        if answer.status_code != 422 or said not in answer.json()["detail"]:
            wrong[name] = (answer.status_code, answer.text[:300])
        elif counts(service) != before:
            wrong[name] = "it left rows"
    assert wrong == {}
    assert imported(service, made_of(parts))["number"] == 2, (
        "the parts themselves are right, and no number is lost"
    )


def test_a_fault_in_the_last_part_undoes_all_before(service):
    made = measured(service)
    parts = parts_of(exported(service, made["id"], logs=True))
    before = counts(service)
    *others, last = parts["logs.jsonl"].splitlines()
    record = json.loads(last) | {"lines": [[0, "stdout", -1, "x"]]}
    parts["logs.jsonl"] = b"\n".join([*others, json.dumps(record).encode()])
    answer = service.client.post("/experiments/import", content=made_of(parts))
    assert f"line {len(others) + 1} of 'logs.jsonl'" in problem(answer, 422)["detail"]
    assert counts(service) == before


def test_rows_with_the_same_numbers_are_refused(service):
    made = measured(service)
    parts = parts_of(exported(service, made["id"]))
    before = counts(service)
    parts["attempts.jsonl"] += parts["attempts.jsonl"].splitlines(keepends=True)[0]
    answer = service.client.post("/experiments/import", content=made_of(parts))
    assert "two rows with the same numbers" in problem(answer, 422)["detail"]
    assert counts(service) == before and service.count(Attempt) == 6


@ONE_KIND
def test_output_is_packed_anew(service):
    """A block of output is compressed in the database: what a bundle has packed would be unpacked unseen."""
    made = measured(service)
    parts = parts_of(exported(service, made["id"], logs=True))
    assert b'"line 0"' in parts["logs.jsonl"] and b'"data"' not in parts["logs.jsonl"]
    imported(service, made_of(parts))
    assert service.count(LogBlock) == 12


@ONE_KIND
def test_limits_of_a_request(service):
    state, usual = service.app.state, service.app.state.settings
    state.settings = usual.model_copy(update={"import_limit": 1000})
    try:
        _check_limits(service)
    finally:
        state.settings, state.imports = usual, 0


def _check_limits(service):
    answer = service.client.post("/experiments/import", content=iter([b"x" * 600, b"x" * 600]))
    assert "more than 1000 bytes" in problem(answer, 413)["detail"]
    service.app.state.imports = endpoints.AT_ONCE
    assert "try again" in problem(service.client.post("/experiments/import", content=b"x"), 503)["detail"]
    assert service.count(Experiment) == 0


@ONE_KIND
def test_a_line_and_a_document_have_limits(service, monkeypatch):
    made = measured(service)
    bundle = exported(service, made["id"])
    monkeypatch.setattr(reading, "MOST_LINE", 500)
    assert (
        "has more than 500 bytes"
        in problem(service.client.post("/experiments/import", content=bundle), 422)["detail"]
    )
    monkeypatch.setattr(reading, "MOST_INFLATED", 1000)
    assert (
        "the limit is 1,000" in problem(service.client.post("/experiments/import", content=bundle), 422)["detail"]
    )
    assert manifest.MOST_INFLATED == 1 << 30
