"""Bundles whose checksums are right and whose content is not harmless."""

import json
import re

import pytest
from hooke_api.exchange import importing
from hooke_api.exchange.report import figures
from hooke_api.metrics.schemas import Band
from hooke_api.models import Run, StoredEvaluation
from sqlalchemy import func, select

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import TWO, exported, imported, made_of, measured, parts_of
from tests.api.exchange.test_damage import edited, setting
from tests.api.test_experiments import problem


@ONE_KIND
def test_another_specification_is_another_measurement(service):
    """Whoever imports a changed bundle first must not make the true one impossible to import."""
    made = measured(service)
    parts = parts_of(exported(service, made["id"]))
    record = json.loads(parts["experiment.json"])
    record["spec"]["baseline"] = TWO["variants"][1]["name"]
    record["note"] = "changed"
    false = imported(service, made_of(parts | {"experiment.json": json.dumps(record).encode()}))
    true = imported(service, made_of(parts))
    assert true["id"] != false["id"]
    assert true["spec"]["baseline"] == "sync"
    again = exported(service, true["id"])
    assert imported(service, again, 200)["id"] == true["id"], "what leaves an import is the same measurement"


def test_what_a_run_has_not_is_null_in_an_import(service):
    """A JSON null would count as a declaration of metrics: that of the runs behind it would not be found."""
    imported(service, exported(service, measured(service)["id"]))
    with service.database.read() as session:
        for column in (Run.further_metrics, StoredEvaluation.further):
            assert session.scalar(select(func.count()).select_from(column.class_).where(column.is_not(None))) == 0
            assert session.scalar(select(func.count()).select_from(column.class_).where(column.is_(None))) >= 12


@ONE_KIND
def test_a_row_that_answers_cannot_show_is_refused(service):
    """One such row would make the list of all runs fail, for everybody; many answers repeat long texts."""
    parts = parts_of(exported(service, measured(service)["id"]))
    long = {"cpu": "x" * 20_000}
    for part, change, said in (
        ("runs.jsonl", setting(evaluated_part="moon"), "line 1 of 'runs.jsonl': evaluated_part"),
        ("runs.jsonl", setting(hardware=long), "more than 20000 characters"),
        ("runs.jsonl", setting(versions=long), "more than 20000 characters"),
        ("totals.jsonl", setting(notes=long), "more than 20000 characters"),
    ):
        answer = service.client.post("/experiments/import", content=edited(parts, part, change))
        assert said in problem(answer, 422)["detail"]
    assert service.client.get("/runs").status_code == 200


def test_rows_are_held_up_to_a_number_of_bytes(monkeypatch):
    monkeypatch.setattr(importing, "HELD_BYTES", 100)
    sizes = [10, 20, 80, 500, 1, 2, 3, 4]
    rows = [({"n": i}, size) for i, size in enumerate(sizes)]
    found = [[row["n"] for row in some] for some in importing._some(iter(rows), 3)]
    assert found == [[0, 1, 2], [3], [4, 5, 6], [7]]


@ONE_KIND
def test_a_table_holds_no_formula(service):
    names = ["=1+1", "+x", "-x", "@sum(a1)", "sync"]
    service.submit(variants=[{"name": name, "algorithm": "sync-sgd"} for name in names], baseline="sync")
    text = service.client.get("/runs.csv").text
    for name in names[:-1]:
        assert f",'{name}," in text and f",{name}," not in text
    assert ",sync," in text


def band(x, y, low=None, high=None):
    return Band.model_construct(
        variant="v", cluster="c", simulated=False, workers=1, metric="train_loss",
        x=x, mean=y, low=low or y, high=high or y, n=[1] * len(x), runs=["r"], evaluations=[1],
        kept_before=0, kept_after=0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "y", [[1e20, 1e20], [1e308, -1e308], [5e-324, 0.0], [-1e17, -1e17], [1.0, 1.0 + 2e-16], [1e308, 1e308]]
)
def test_every_number_can_be_drawn(y):
    """A loss that diverged, a constant that is large, differences that no division survives."""
    for x in ([0.0, 1.0], [1e20, 1e20], [0.0, 1e308]):
        text = figures.curves([band(x, y)], [0], ("s", "loss"), None, of_accuracy=False)
        assert "nan" not in text and "inf" not in text.replace("points", "")


def test_intervals_beyond_all_accuracies_end_at_the_axis():
    """Of two seeds, the 95% interval of a mean accuracy of 60% may reach from -100% to 220%."""
    wide = band([0.0, 1.0], [0.6, 0.7], [-1.0, 0.5], [2.2, 0.9])
    text = figures.curves([wide], [0], ("s", "accuracy"), 0.9, of_accuracy=True)
    assert "100%" in text and "200%" not in text and "-50%" not in text
    top = min(float(place) for place in re.findall(r"[ML][0-9.]+ (-?[0-9.]+)", text))
    assert top >= figures._Frame.top
