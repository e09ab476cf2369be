"""Further metrics of a workload: from the records of a run to series, bands and the table, on both databases."""

import csv
import io
import math

import pytest
from hooke.spec.events import RankRecords
from hooke.spec.further import FurtherMetric
from hooke_api.metrics.schemas import CommonMetric
from pydantic import ValidationError

from tests.api.conftest import scored, start, steps
from tests.api.databases import ONE_KIND

P3 = FurtherMetric(name="p_at_3", title="P@3", unit="share", description="Precision at 3.", better="higher")
RECALL = FurtherMetric(name="recall", title="Recall", unit="share")


@pytest.fixture
def running(service):
    """A run whose first evaluation lacks one of its two further metrics."""
    supervisor = service.launch()
    supervisor.report("starting", "running")
    records = [
        start(further_metrics=[P3, RECALL]),
        scored(1, 0, 0.1, further={"p_at_3": 0.2}),
        steps(2, 4),
        scored(3, 256, 0.5, further={"p_at_3": 0.3, "recall": 0.75}),
        steps(4, 4, first=5),
    ]
    supervisor.send(RankRecords(rank=0, records=records))
    supervisor.send(RankRecords(rank=1, records=[start(), steps(1, 8)]))
    return supervisor


def series(service, run, metric, axis="clock"):
    answer = service.client.post("/series", json={"runs": [run], "metrics": [metric], "axis": axis})
    assert answer.status_code == 200, answer.text
    return answer.json()["series"][0]


@ONE_KIND
def test_declarations_of_an_experiment(service, running):
    experiment = service.run(running.id)["experiment_id"]
    answer = service.client.get(f"/experiments/{experiment}/metrics").json()
    assert [item["name"] for item in answer["items"]] == ["p_at_3", "recall"]
    assert answer["items"][0] == {
        "name": "p_at_3",
        "title": "P@3",
        "unit": "share",
        "description": "Precision at 3.",
        "better": "higher",
        "measured": False,
    }
    assert service.client.get("/experiments/exp_none/metrics").status_code == 404


@ONE_KIND
def test_an_experiment_without_them(service):
    supervisor = service.launch()
    supervisor.report("starting", "running")
    supervisor.send(RankRecords(rank=0, records=[start(), scored(1, 0, 0.1)]))
    experiment = service.run(supervisor.id)["experiment_id"]
    assert service.client.get(f"/experiments/{experiment}/metrics").json() == {"items": []}
    assert series(service, supervisor.id, "p_at_3")["x"] == []


@ONE_KIND
@pytest.mark.parametrize(
    ("axis", "x"), [("clock", [0, 0.256]), ("wall", [0, 256 / 900]), ("samples", [0, 256]), ("step", [0, 4])]
)
def test_a_series_over_every_axis(service, running, axis, x):
    found = series(service, running.id, "p_at_3", axis)
    assert found["x"] == pytest.approx(x) and found["y"] == [0.2, 0.3]


@ONE_KIND
def test_a_missing_value_is_no_point(service, running):
    found = series(service, running.id, "recall", "bytes")
    assert (found["x"], found["y"]) == ([16_000], [0.75])


@ONE_KIND
def test_bands_and_the_table(service, running):
    experiment = service.run(running.id)["experiment_id"]
    (first, *_) = service.client.get(
        f"/experiments/{experiment}/bands", params={"metric": "p_at_3", "axis": "samples"}
    ).json()["bands"]
    assert first["metric"] == "p_at_3" and first["mean"][0] == 0.2
    text = service.client.get(f"/experiments/{experiment}/points.csv").text
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["run"] == running.id]
    assert [(row["samples"], row["value"]) for row in rows if row["metric"] == "recall"] == [("256.0", "0.75")]
    only = service.client.get(f"/experiments/{experiment}/points.csv", params={"metric": "p_at_3"}).text
    assert {row["metric"] for row in csv.DictReader(io.StringIO(only))} == {"p_at_3"}


def test_values_that_are_not_finite_are_not_stored(service, running):
    record = scored(5, 512, 0.6, further={"p_at_3": math.nan, "recall": 0.5})
    running.send(RankRecords(rank=0, records=[record]))
    assert series(service, running.id, "p_at_3")["y"] == [0.2, 0.3]
    assert series(service, running.id, "recall")["y"] == [0.75, 0.5]


@ONE_KIND
def test_a_name_that_no_metric_can_have_is_refused(service, running):
    answer = service.client.post("/series", json={"runs": [running.id], "metrics": ["P@3"]})
    assert answer.status_code == 422


@pytest.mark.parametrize("name", CommonMetric.__args__)
def test_names_of_metrics_of_all_runs_are_reserved(name):
    with pytest.raises(ValidationError):
        FurtherMetric(name=name, title="x")
