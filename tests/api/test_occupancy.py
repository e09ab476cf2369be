"""How busy a cluster was, against sums over small steps of time, and from runs as they are stored."""

import random
from datetime import timedelta

import pytest
from hooke_api.clusters.occupancy import shares
from hooke_api.models import Cluster, Run, now
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC, Supervisor
from tests.api.test_experiments import VIRTUAL, problem


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_those_of_every_second(seed):
    draw = random.Random(seed)
    spans = [
        (start, start + draw.randrange(1, 300), draw.randrange(1, 6))
        for start in (draw.randrange(-200, 700) for _ in range(30))
    ]
    found = shares([(float(a), float(b), held) for a, b, held in spans], 0.0, 60.0, 10, 8)
    busy = [min(8, sum(held for a, b, held in spans if a <= second < b)) for second in range(600)]
    assert found == pytest.approx([sum(busy[60 * i : 60 * i + 60]) / 480 for i in range(10)])


def test_without_runs_nothing_is_busy():
    assert shares([], 0.0, 60.0, 3, 4) == [0.0, 0.0, 0.0]
    assert shares([(5.0, 5.0, 2), (-9.0, 0.0, 2), (180.0, 190.0, 2)], 0.0, 60.0, 3, 4) == [0.0, 0.0, 0.0]


def joined(service, days):
    with service.database.write() as session:
        session.execute(update(Cluster).values(created_at=now() - timedelta(days=days)))


def ran(service, run_id, begin, end):
    """Say that a run ran from so many hours ago to so many hours ago; None: until now."""
    with service.database.write() as session:
        ended = None if end is None else now() - timedelta(hours=end)
        values = {"started_at": now() - timedelta(hours=begin), "finished_at": ended}
        session.execute(update(Run).where(Run.id == run_id).values(**values))


@ONE_KIND
def test_runs_hold_their_slots_from_start_to_end(service):
    service.submit(**SPEC)
    joined(service, 30)
    service.scheduler.look()
    orders = [order for _, launched in service.line.launched for order in launched]
    assert len(orders) == 4
    for order in orders[:3]:
        Supervisor(service, order).report("starting", "running", "succeeded")
    Supervisor(service, orders[3]).report("starting", "running")
    slots = {order.run: service.run(order.run)["workers"] + service.run(order.run)["servers"] for order in orders}
    ran(service, orders[0].run, 10, 8)
    ran(service, orders[1].run, 100, 50)
    ran(service, orders[2].run, 30, 23.75)
    ran(service, orders[3].run, 1, None)
    day = service.get("/clusters/local/occupancy")
    assert (day["slots"], day["seconds"], len(day["shares"])) == (4, 1800, 48)
    wanted = [0.0] * 48
    wanted[28:32] = [slots[orders[0].run] / 4] * 4
    wanted[0] = slots[orders[2].run] / 4 / 2
    wanted[46:48] = [slots[orders[3].run] / 4] * 2
    assert day["shares"] == pytest.approx(wanted, abs=0.02)
    week = service.get("/clusters/local/occupancy", period="week")
    assert (week["seconds"], len(week["shares"])) == (10_800, 56)
    hours = {0: (10, 8), 1: (100, 50), 2: (30, 23.75), 3: (1, 0)}
    held = sum(slots[orders[i].run] * (begin - end) for i, (begin, end) in hours.items())
    assert sum(week["shares"]) * 3 * 4 == pytest.approx(held, rel=0.01)


def test_a_simulated_run_holds_the_whole_host_and_the_time_before_it_joined_is_unknown(service):
    service.submit(**SPEC | {"clusters": [VIRTUAL | {"seeds": 1}]})
    joined(service, 0.5)
    service.scheduler.look()
    (order, *_) = [order for _, launched in service.line.launched for order in launched]
    Supervisor(service, order).report("starting", "running", "succeeded")
    ran(service, order.run, 2, 1)
    found = service.get("/clusters/local/occupancy")["shares"]
    assert found[:23] == [None] * 23
    assert found[44:46] == pytest.approx([1, 1], abs=0.02)
    assert sum(found[25:]) == pytest.approx(2, abs=0.02)


@ONE_KIND
def test_of_no_cluster_and_of_no_period(service):
    problem(service.client.get("/clusters/nowhere/occupancy"), 404)
    service.hello()
    problem(service.client.get("/clusters/local/occupancy", params={"period": "year"}), 422)
