"""The benchmark of the API: its counts are exact, its page and its baseline say what the records hold."""

import json
import socket
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
from hooke.spec.events import ABSENT
from hooke_api.models import Chunk, StoredEvaluation
from sqlalchemy import delete, insert, select

from benchmarks.api import baseline, bodies, live, page, running, streaming
from benchmarks.api.figures import Bench, Figure, met, p95
from benchmarks.api.remarks import REMARKS
from benchmarks.api.scenarios import hour, writers
from benchmarks.api.server import served
from benchmarks.evidence.store import ROOT

HARDWARE = {"cpu": "Some CPU", "cores": 2, "generation": "", "bf16": "emulated", "memory_bytes": 1}


@dataclass(frozen=True)
class OneServer(Bench):
    """A bench whose scenarios share a server, which goes on after them."""

    running: object = None

    def server(self):
        return nullcontext(self.running)


def test_counts_are_exact_and_planted_errors_are_seen(monkeypatch):
    """A real API process: two supervisors post 20 requests each, the last one twice."""
    monkeypatch.setattr(writers, "REPEATED", 20)
    seen = []

    def noting(server, attempts, *numbers):
        seen.append((attempts, numbers))
        return counted(server, attempts, *numbers)

    counted = writers.counted
    monkeypatch.setattr(writers, "counted", noting)
    with served(None) as server:
        figures = list(writers.measure(OneServer(scale=0.02, running=server)))
        assert [figure.values for figure in figures[:3]] == [(0,), (0,), (0,)]
        assert figures[0].name.startswith("2 writers x 20 requests")
        [(attempts, (steps, evaluations))] = seen
        assert (steps, evaluations) == (200, 2)
        database = server.database()
        with database.write() as session:
            rows = select(Chunk).where(Chunk.run_id == attempts[0].run).order_by(Chunk.seq)
            gone, twice = session.scalars(rows.limit(2)).all()
            names = ("run_id", "attempt", "rank", "n", "header", "data")
            copy = {name: getattr(twice, name) for name in names}
            session.execute(delete(Chunk).where(Chunk.id == gone.id))
            session.execute(insert(Chunk), [copy | {"seq": 10**6}])
            session.execute(delete(StoredEvaluation).where(StoredEvaluation.run_id == attempts[1].run))
        database.close()
        assert counted(server, attempts, steps, evaluations) == (writers.STEPS + evaluations, writers.STEPS)


def test_steps_have_the_columns_of_a_method_without_a_server():
    """Points are counted by them: a column that may be missing would make each step one value more."""
    columns = bodies.steps(seq=0, first=1, n=3, ranks=2, seed=0).columns
    assert not set(columns) & set(ABSENT)
    assert len(columns) - len(bodies.COORDINATES) == bodies.VALUES == 11


def record(**changes):
    """Return a record of one scenario with four figures."""
    figures = [
        Figure("speed", "points/s", (90.0, 120.0, 100.0), 100, higher=True),
        Figure("first look", "ms", (70.0, 60.0, 80.0), 50),
        Figure("points missing", "points", (0,), 0),
        Figure("memory", "MB", (150.0,)),
    ]
    found = [figure.document("ingest") for figure in figures]
    scenario = {"title": "Ingest", "seconds": 12.0, "others": 0.25, "figures": found}
    return {
        "schema": running.SCHEMA,
        "unix": 1_700_000_000.0,
        "commit": "abcdef0123",
        "hardware": HARDWARE,
        "versions": {},
        "database": "SQLite",
        "scale": 1.0,
        "rounds": 3,
        "mlflow": None,
        "load_before": 0.1,
        "load_after": 1.4,
        "speed_before_ms": 8.0,
        "speed_after_ms": 9.0,
        "scenarios": {"ingest": scenario},
    } | changes


def test_medians_goals_and_percentiles():
    speed, look, missing, memory = record()["scenarios"]["ingest"]["figures"]
    assert [each["median"] for each in (speed, look, missing, memory)] == [100, 70, 0, 150]
    assert [met(each) for each in (speed, look, missing, memory)] == [True, False, True, None]
    assert p95([i / 1000 for i in range(101)]) == pytest.approx(95.0)
    assert Bench(scale=0.01).size(100_000) == 1000 and Bench(scale=0.01).size(10, 2) == 2


def test_the_page_says_what_was_met_and_what_was_missed():
    text = page.page([record()])
    assert "**2 of 3 goals met with SQLite.**" in text
    assert "| speed | 100 (90 to 120) points/s | ≥ 100 | met |" in text
    assert "| first look | 70 (60 to 80) ms | ≤ 50 | **missed** |" in text
    assert "| memory | 150 MB |  |  |" in text
    assert "busy machine" not in text
    assert "others: 0.25 cores" in text and "MLflow was not measured" in text
    assert "MLflow was not measured" not in page.page([record(mlflow="3.1")])


def test_a_busy_machine_is_told():
    busy = record()
    busy["scenarios"]["ingest"]["others"] = 1.34
    assert (
        "**2 of 3 goals met with SQLite.** Measured on a busy machine: others used up to 1.3 cores."
        in page.page([busy])
    )


def test_a_short_measurement_does_not_replace_a_whole_one():
    text = page.page([record(), record(unix=1_800_000_000.0, scale=0.1)])
    assert "Session of 2023-11-14 22:13 UTC" in text and "Scale 0.1" not in text
    assert text.count("| abcdef0123 |") == 2, "both sessions are listed"
    assert "Scale 0.1." in page.page([record(scale=0.1)])


def test_published_records_are_those_of_the_page(tmp_path):
    page.publish([record()], tmp_path)
    first = (tmp_path / page.PAGE).read_text()
    assert page.read(tmp_path / page.DATA) == [json.loads(json.dumps(record()))]
    page.publish([], tmp_path)
    assert (tmp_path / page.PAGE).read_text() == first


def test_every_goal_that_a_published_session_missed_is_explained():
    """A new session with a miss needs its own words: what is known of the cause, and what was done."""
    records = page.read(ROOT / "docs" / "results" / page.DATA)
    for database in dict.fromkeys(each["database"] for each in records):
        for name, of in page.latest(records, database).items():
            missed = [each["name"] for each in of["scenarios"][name]["figures"] if met(each) is False]
            assert bool(missed) == ((page.name_of(of), name) in REMARKS), (database, name, missed)


def test_ratios_are_to_the_same_machine_database_and_scale(tmp_path):
    place = tmp_path / "baseline.json"
    baseline.write([record()], place)
    known = baseline.of(record(), place)
    assert [baseline.ratio(figure, known) for figure in baseline.figures(record())] == [1, 1, None, 1]
    for other in ({"database": "PostgreSQL"}, {"scale": 0.5}, {"hardware": HARDWARE | {"cores": 4}}):
        assert baseline.of(record(**other), place) is None


def test_the_stored_baseline_has_the_latest_of_all_that_is_published(tmp_path):
    """Else figures are compared with those before: `python -m benchmarks.api baseline` is to follow `publish`."""
    place = tmp_path / "baseline.json"
    place.write_text(baseline.PLACE.read_text())
    baseline.write(page.read(ROOT / "docs" / "results" / page.DATA), place)
    assert place.read_text() == baseline.PLACE.read_text()


def test_a_check_finds_what_is_worse_and_any_lost_point(tmp_path):
    place = tmp_path / "baseline.json"
    baseline.write([record()], place)
    now = record()
    values = {"speed": 49.0, "first look": 139.0, "points missing": 1, "memory": 299.0}
    for figure in baseline.figures(now):
        figure["median"] = values[figure["name"]]
    told = baseline.worse(now, baseline.of(now, place), 2.0)
    assert told == ["ingest: speed [points/s]: 49, before 100", "ingest: points missing [points]: 1, before 0"]
    assert baseline.worse(record(), baseline.of(now, place), 1.0) == []


def test_a_check_without_a_baseline_and_an_unknown_scenario_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("HOOKE_REDIS_URL", raising=False)
    with pytest.raises(SystemExit, match="no scenario is called nothing"):
        running.run(["nothing"], Bench(), tmp_path, None)
    monkeypatch.setattr(running, "begin", lambda bench: record(scale=bench.scale))
    with pytest.raises(SystemExit, match="no baseline of some-2-cores, SQLite at scale 0.123"):
        running.run(["writers"], Bench(scale=0.123), tmp_path, 2.0)


def test_a_load_of_any_length_is_told_by_quarters(monkeypatch):
    """A real API with two runs and four streams, for 3 s instead of an hour."""
    monkeypatch.setattr(live, "WARM_SECONDS", 1.5)
    figures = {f.name: f for f in hour.measure(Bench(scale=0.01, seconds=3.0))}
    for name in hour.QUARTERS:
        assert figures[f"the same, in the {name} quarter"].values[0] > 0
        assert 50 < figures[f"API memory, end of the {name} quarter"].values[0] < 1000
    assert figures["steps acknowledged and not in curves"].values == (0,)
    assert figures["streams that broke"].values == (0,)
    # two runs beat once a second; three of the streams are of their experiment, one of everything
    assert figures["events received"].values[0] > 4
    assert len(figures["API memory, at 60 equal distances"].values) > 4
    assert 0 < figures["processor of the API"].values[0] < 2


def test_growth_is_the_slope_of_all_looks():
    assert hour.slope([(0.0, 5.0), (10.0, 7.0), (20.0, 9.0)]) == pytest.approx(0.2)
    assert hour.slope([(3.0, 5.0)]) == 0


def test_events_are_counted_wherever_their_bytes_are_cut():
    """A stream of events, of which a server that is no HTTP server sends one byte at a time."""
    text = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nid: 1\n\n"
    text += b"".join(b"event: points\ndata: {}\nid: %d\n\n" % i for i in range(5))
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = streaming.Stream(f"http://127.0.0.1:{server.getsockname()[1]}", "token", "/events")
        with server.accept()[0] as other:
            for i in range(len(text)):
                other.sendall(text[i : i + 1])
                assert stream.read()
        assert not stream.read() and stream.events == 5
        assert stream.broken(), "it has ended"
