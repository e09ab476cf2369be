"""Who reads a bundle or a table slowly takes neither connections of the database nor memory without a limit."""

import gc
from contextlib import closing, suppress
from itertools import repeat

import pytest
from hooke_api.base import few as base_few
from hooke_api.base.errors import Unavailable
from hooke_api.base.few import Few
from hooke_api.exchange import endpoints, portions
from hooke_api.exchange.writing import bundle_of
from hooke_api.storage.database import Database

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import measured
from tests.api.hands import ALONE
from tests.api.test_experiments import problem
from tests.waiting import wait_for


def test_between_two_parts_of_a_bundle_no_connection_is_taken(service, monkeypatch):
    """Fifty clients that read one each, a few bytes a minute, would have left none to anybody else."""
    monkeypatch.setattr(portions, "IN_MEMORY", 100)
    made, sizes = measured(service, ALONE), []
    with closing(Database(service.settings.url)) as database:
        for part in bundle_of(database, made["id"], "here", logs=True, traces=True):
            assert database.engine.pool.checkedout() == 0
            sizes.append(len(part))
    assert len(sizes) > 5


@ONE_KIND
@pytest.mark.parametrize(
    "path", ["/experiments/{id}/bundle", "/experiments/{id}/points.csv", "/runs/{run}/workers.csv"]
)
def test_few_are_sent_at_a_time(service, monkeypatch, path):
    made = measured(service, ALONE)
    path = path.format(id=made["id"], run=service.runs()[0]["id"])
    few = Few(1, "of them")
    for name in ("bundles", "point_tables"):
        monkeypatch.setitem(service.app.state._state, name, few)
    for _ in range(2):
        assert service.client.get(path).status_code == 200
        slow = few.sent(lambda: iter(["the first part", "the second one"]))
        assert next(slow)
        told = problem(service.client.get(path), 503)["detail"]
        assert told == "1 of them are being sent: try again later"
        del slow
    assert problem(service.client.get(path.replace("_", "_no")), 404)
    assert service.client.get(path).status_code == 200, "what was refused does not count"


@ONE_KIND
def test_whoever_leaves_in_the_middle_makes_room(service, monkeypatch):
    """What is left of the request is garbage, of which an idle server collects none for long."""
    few, made = Few(1, "bundles"), service.submit(**ALONE)["id"]
    monkeypatch.setitem(service.app.state._state, "bundles", few)
    monkeypatch.setattr(base_few, "COLLECT_SECONDS", 0.0)
    monkeypatch.setattr(endpoints, "bundle_of", lambda *_: repeat(bytes(1 << 16)))

    def free():
        with suppress(Unavailable):
            return few.sent(lambda: iter("ab"))

    gc.disable()
    try:
        with service.client.stream("GET", f"/experiments/{made}/bundle") as answer:
            parts = answer.iter_raw()  # held: where it ends, httpx closes the connection
            assert next(parts)
            assert free() is None
        wait_for(free, "room for another bundle")
    finally:
        gc.enable()


@ONE_KIND
def test_an_answer_counts_until_it_ends_or_nobody_holds_it():
    few = Few(1, "answers")
    assert list(few.sent(lambda: iter("ab"))) == ["a", "b"]
    held = few.sent(lambda: iter("ab"))
    with pytest.raises(Unavailable):
        few.sent(lambda: iter("ab"))
    assert list(held) == ["a", "b"]
    with pytest.raises(StopIteration):
        next(held)
    with pytest.raises(ZeroDivisionError):
        few.sent(lambda: 1 / 0)
    few.sent(lambda: iter("ab"))  # and is let go of
    assert list(few.sent(lambda: iter("ab"))) == ["a", "b"]
