"""The record of random requests: what is done stays done, whenever the program ends."""

import json

from tests.requests import record
from tests.requests.record import Sent

NAMES = ["read_run", "query_series", "ingest"]


def sent(examples=500, commit="a1", found=False):
    return Sent(examples=examples, seed=7, commit=commit, seconds=1.5, unix=1.0, found=found)


def test_operations_with_fewer_requests_are_left(tmp_path):
    place = tmp_path / "results" / "record.json"
    assert record.left(NAMES, record.read(place), 500) == NAMES
    record.add(place, "query_series", sent())
    record.add(place, "ingest", sent(examples=30))
    assert record.read(place) == {"query_series": sent(), "ingest": sent(examples=30)}
    assert record.left(NAMES, record.read(place), 500) == ["read_run", "ingest"]
    assert record.left(NAMES, record.read(place), 30) == ["read_run"]
    record.add(place, "ingest", sent(commit="b2", found=True))
    assert record.left(NAMES, record.read(place), 500) == ["read_run"]
    assert json.loads(place.read_text())["ingest"]["seed"] == 7
    told = record.summary(NAMES, record.read(place), 500).splitlines()
    assert told[0] == "2 of 3 operations have had 500 requests each; commits: a1, b2"
    assert told[1:] == ["not yet: read_run", "something was found in: ingest"]


def test_a_record_that_is_cut_short_is_the_one_before(tmp_path):
    place = tmp_path / "record.json"
    record.add(place, "ingest", sent())
    place.with_suffix(".new").write_text('{"ingest": {')  # what a killed process leaves
    assert record.read(place) == {"ingest": sent()}
    record.add(place, "read_run", sent())
    assert set(record.read(place)) == {"ingest", "read_run"}
