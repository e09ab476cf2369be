"""Series that a client has in part: what it gets and what it has make the whole series, whatever has changed."""

import random
import re

import numpy as np
import pytest
from hooke.spec.events import RankRecords
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.marks import MOST_LETTERS, PATTERN, kept, mark

from tests.api.conftest import scored, start
from tests.api.databases import ONE_KIND


@pytest.mark.parametrize("seed", range(10))
def test_what_a_client_has_and_gets_is_the_whole_series(seed):
    chance, values = random.Random(seed), np.empty(0)
    have, known = (np.empty(0), np.empty(0)), ""
    for _ in range(40):
        values = np.append(values, [chance.random() for _ in range(chance.randrange(30))])
        if len(values) and chance.random() < 0.2:
            values[chance.randrange(len(values))] = chance.choice([np.nan, 2.0])
        places = m4(values, 64)
        x, y = places.astype(float), values[places]
        begin = kept(known, x, y)
        have = tuple(np.append(old[:begin], new[begin:]) for old, new in zip(have, (x, y), strict=True))
        np.testing.assert_array_equal(have, (x, y))
        known = mark(x, y)
        assert re.match(PATTERN, known) and len(known) <= MOST_LETTERS


def test_a_curve_that_grows_has_only_its_end_sent():
    sent, whole = [], []
    values = np.sin(np.arange(4000.0))
    known = ""
    for n in range(1000, 4000, 20):
        places = m4(values[:n], 400)
        x, y = places.astype(float), values[places]
        sent.append(len(x) - kept(known, x, y))
        whole.append(len(x))
        known = mark(x, y)
    assert np.median(sent) <= 12 and sum(sent) < 0.1 * sum(whole)  # buckets double at times


def test_marks_of_nothing_and_of_other_points():
    x = np.arange(20.0)
    assert mark(x[:5], x[:5]) == "" and kept("", x, x) == 0
    assert kept(mark(x, x), x + 1, x) == 0
    assert kept(mark(x, x), x[:15], x[:15]) == 12
    assert kept(mark(x, x), x, x) == 20
    assert re.match(PATTERN, mark(x, x)) and not re.match(PATTERN, "1-zz")


@ONE_KIND
def test_over_http(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    records = [start(), *(scored(1 + i, 64 * i, i / 100) for i in range(40))]
    supervisor.send(RankRecords(rank=0, records=records))
    asked = {"runs": [supervisor.id], "metrics": ["validation_accuracy", "validation_loss"]}
    whole = service.client.post("/series", json=asked).json()["series"]
    marks = [each["mark"] for each in whole]
    again = service.client.post("/series", json=asked | {"marks": marks}).json()["series"]
    assert [(each["kept_before"], each["x"], each["y"], each["n"]) for each in again] == [(40, [], [], 40)] * 2
    supervisor.send(RankRecords(rank=0, records=[scored(41, 64 * 40, 0.9)]))
    new = service.client.post("/series", json=asked | {"marks": [marks[0], ""]}).json()["series"]
    assert (new[0]["kept_before"], new[0]["y"], new[0]["n"]) == (40, [0.9], 41)
    assert (new[1]["kept_before"], len(new[1]["y"])) == (0, 41)
    assert service.client.post("/series", json=asked | {"marks": marks[:1]}).status_code == 422
    assert service.client.post("/series", json=asked | {"marks": ["x", ""]}).status_code == 422
