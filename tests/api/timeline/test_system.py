"""Samples as rates: known counters, gaps, and what is left of them over HTTP."""

import json

import pytest
from hooke.spec.events import RankRecords
from hooke.spec.files import packed
from hooke_api.timeline.system import rates, thinned

from tests.api.hands import start


def test_a_rate_is_the_increase_since_the_sample_before():
    assert rates([0, 5, 15], [10.0, 20.0, 25.0]) == [None, 2.0, 0.5]
    assert rates([0, 5, 10, 15], [1.0, None, 3.0, 2.0]) == [None, None, None, None], "missing, missing, began anew"
    assert rates([0, 0], [1.0, 2.0]) == [None, None]
    assert rates([], []) == [None]


def test_thinning_keeps_both_ends_and_the_mean_rate():
    found = thinned([{"unix": i} for i in range(1001)], 11)
    assert [sample["unix"] for sample in found] == [100 * i for i in range(11)]
    assert thinned(found, 11) == found


def sample(unix, **more):
    ranks = {"0": [unix / 2, 1e6 + unix], "1": [unix, 2e6]}
    return {"unix": 1000 + unix, "host": "node", "ranks": ranks, "network": [unix * 100, unix * 10]} | more


def lines(*samples):
    return b"".join(json.dumps(each).encode() + b"\n" for each in samples)


def test_samples_of_a_run(service):
    supervisor = service.launch()
    nothing = service.get(f"/runs/{supervisor.id}/system")
    assert (nothing["at"], nothing["processes"], nothing["host"]) == ([], [], None)
    supervisor.send(RankRecords(rank=0, records=[start()]), RankRecords(rank=1, records=[start(host="far")]))
    content = lines(sample(0), sample(5), {"unix": "?"}, sample(10, joules=50.0), sample(20, joules=250.0))
    supervisor.send(files=[packed("system", 0, content + b'{"unix": 30, "ho')])
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["began"] == 1000
    assert found["at"] == [0, 5, 10, 20]
    cpu = {each["rank"]: each["cpu"] for each in found["processes"]}
    assert cpu == {0: [None, *[pytest.approx(0.5)] * 3], 1: [None, *[pytest.approx(1.0)] * 3]}
    assert found["processes"][0]["memory"] == [1e6, 1e6 + 5, 1e6 + 10, 1e6 + 20]
    assert found["host"]["received"][1:] == pytest.approx([100] * 3)
    assert found["host"]["sent"][1:] == pytest.approx([10] * 3)
    assert found["host"]["power"] == [None, None, None, 20.0]
    assert found["host"]["gpu"] == [None] * 4
    assert found["elsewhere"] == [1]
    assert len(service.get(f"/runs/{supervisor.id}/system", points=16)["at"]) == 4


def test_of_a_virtual_run_only_the_process(service):
    virtual = {"clusters": [{"name": "v", "computed_on": "local", "workers": [2], "seeds": 1, "virtual": {}}]}
    supervisor = service.launch(**virtual)
    supervisor.send(files=[packed("system", 0, lines(sample(0), sample(5)))])
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["simulated"] is True
    assert found["host"] is None
    assert len(found["processes"]) == 2
