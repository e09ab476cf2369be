"""The small curve of a list: the median over seeds, of a bounded size, stored with the headlines."""

import json
import math
from itertools import pairwise

import pytest
from hooke_api.comparisons.best_curve import MOST_EVALUATIONS, VALUES, median_curve
from hooke_api.comparisons.headlines import Headlines
from hooke_api.models import Experiment, Run, StoredEvaluation
from sqlalchemy import event, insert, select, update

from tests.api.comparisons.test_headlines import THREE, seconds
from tests.api.databases import ONE_KIND
from tests.api.planning.test_tuning import play


def test_the_median_of_lines_is_the_middle_line():
    rising = [([0.0, 10.0], [0.0, slope * 10]) for slope in (1.0, 2.0, 4.0)]
    end, values = median_curve(rising, 6)
    assert end == 10
    assert values == pytest.approx([0, 4, 8, 12, 16, 20])


def test_it_ends_at_the_median_of_the_ends_and_a_seed_that_ended_keeps_its_value():
    ends = {2.0: 5.0, 4.0: 6.0, 8.0: 7.0}
    end, values = median_curve([([0.0, at], [0.0, value]) for at, value in ends.items()], 3)
    assert end == 4
    # at 2 s: 5 (ended), 6 / 2 and 7 / 4; at 4 s: 5, 6 and 7 / 2
    assert values == pytest.approx([0, 3, 5])


@pytest.mark.parametrize("series", [[], [([0.0], [0.1])], [([0.0, math.inf], [0.1, 0.2])]])
def test_there_is_no_curve_without_time(series):
    assert median_curve(series, 8) is None


def item(service):
    (row,) = service.get("/experiments")["items"]
    return row


def looked(service):
    thread = Headlines(service.database, service.settings)
    thread.look()
    thread.close()  # the next one may lead at once
    return item(service)["curve"]


def test_the_list_has_the_curve_of_the_fastest(service):
    experiment = service.submit(**THREE)["id"]
    assert looked(service) is None, "nothing is known to be best"
    play(service, seconds)
    curve = looked(service)
    assert {key: value for key, value in curve.items() if key not in ("values", "seconds")} == {
        **{"variant": "sync", "cluster": "local", "simulated": False, "seeds": 3},
        **{"metric": "validation_accuracy", "target": 0.9},
    }
    ends = sorted(seconds(run) for run in service.runs() if run["variant"] == "sync")
    assert curve["seconds"] == pytest.approx(ends[1], rel=1e-3), "the median over seeds"
    assert len(curve["values"]) == VALUES
    assert curve["values"][-1] == pytest.approx(0.95), "what play() tells of a run that met the target"
    assert all(a <= b for a, b in pairwise(curve["values"]))
    assert len(json.dumps(curve)) < 700
    assert service.get(f"/experiments/{experiment}")["curve"] == curve


@ONE_KIND
def test_the_list_reads_no_evaluations(service):
    service.submit(**THREE)
    play(service, seconds)
    looked(service)
    statements = []

    def hear(connection, cursor, statement, *rest):
        statements.append(statement)

    event.listen(service.database.engine, "before_cursor_execute", hear)
    try:
        assert item(service)["curve"] is not None
    finally:
        event.remove(service.database.engine, "before_cursor_execute", hear)
    assert any("FROM experiments" in each for each in statements), "the listener hears the list"
    assert [each for each in statements if "evaluations" in each or "chunks" in each] == []


@ONE_KIND
def test_what_was_stored_before_there_were_curves_is_read_and_computed_once(service):
    experiment = service.submit(**THREE)["id"]
    play(service, seconds)
    looked(service)
    lines = item(service)["headlines"]
    with service.database.write() as session:
        session.execute(update(Experiment).where(Experiment.id == experiment).values(headlines=lines))
    assert (item(service)["headlines"], item(service)["curve"]) == (lines, None)
    assert looked(service) is not None
    assert item(service)["headlines"] == lines


@ONE_KIND
def test_without_a_target_the_highest_accuracy_is_the_best(service):
    service.submit(**THREE | {"target": None})
    play(service, lambda run: 2 if run["variant"] == "original" else None)
    curve = looked(service)
    assert (curve["variant"], curve["target"]) == ("original", None)


def test_of_many_evaluations_few_are_read_and_those_of_a_restart_count_once(service, monkeypatch):
    service.submit(**THREE)
    play(service, seconds)
    with service.database.write() as session:
        for run in session.scalars(select(Run).where(Run.variant == "sync")):
            run.attempt = 2
            of = {"run_id": run.id, "rank": 0, "loss": 0.1, "seconds": 0.0, "reached": False, "wall": 0.0}
            rows = [
                {**of, "attempt": attempt, "seq": n, "step": n, "samples": n, "clock": n / 1000, "accuracy": value}
                # attempt 1 went on to 0.9 beyond its checkpoint at 5,000 samples; attempt 2 continued from there
                for attempt, first, value in ((1, 4500, 0.9), (2, 5000, 0.2))
                for n in range(first, first + 3 * MOST_EVALUATIONS)
            ]
            session.execute(insert(StoredEvaluation), rows)
    read = []
    before = median_curve

    def counted(series, n):
        read.extend(len(times) for times, _ in series)
        return before(series, n)

    monkeypatch.setattr("hooke_api.comparisons.best_curve.median_curve", counted)
    curve = looked(service)
    assert curve["seeds"] == 3
    assert max(read) <= MOST_EVALUATIONS + 1
    assert curve["values"][-1] == pytest.approx(0.2), "the last evaluation is kept"
    step = curve["seconds"] / (VALUES - 1)
    shown = [(n * step, value) for n, value in enumerate(curve["values"])]
    early = [value for at, value in shown if 4.6 < at < 4.95]
    assert early == pytest.approx([0.9] * len(early))
    assert early
    assert all(value == pytest.approx(0.2) for at, value in shown if at > 5.05), "without what was superseded"
