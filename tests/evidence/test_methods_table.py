"""Rows of simulated runs say so, wherever a CSV is taken to."""

import csv
from pathlib import Path

import pytest

from benchmarks.methods import conditions, table
from benchmarks.methods.runs import cells

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", conditions.PLACES)
def test_a_row_says_whether_it_is_simulated_and_how_many_steps_workers_took(tmp_path, name):
    place = conditions.PLACES[name]
    cell = cells(place, 1, ["hogwild-sgd"])[0]
    result = {"state": "succeeded", "evaluations": [], "test_accuracy": 0.99, "time_to_target": 1.0}
    result |= {"samples_to_target": 10, "communication_fraction": 0.1, "lost_mass": None, "machine_ms": None}
    result |= {"simulated": place.world == "virtual", "steps": [7, None, 5]}
    table.write(tmp_path / "page", place, [(cell, result)], 1)
    (row,) = rows_of(tmp_path / "page.csv")
    assert row["simulated"] == str(place.world == "virtual")
    assert (row["steps_least"], row["steps_most"]) == ("5", "7")


def test_published_rows_say_it():
    for name, place in conditions.PLACES.items():
        if (path := RESULTS / f"mnist-lenet-{name}.csv").exists():
            assert {row["simulated"] for row in rows_of(path)} == {str(place.world == "virtual")}
    for path in RESULTS.rglob("*.csv"):
        assert path.name == "curves.csv" or "simulated" in path.read_text().partition("\n")[0], path


def test_no_other_published_table_is_of_simulated_runs():
    """A page of simulated runs says so in bold; its CSV must have the column."""
    for page in RESULTS.rglob("*.md"):
        if "**Simulated**" in page.read_text() and (table_of := page.with_suffix(".csv")).exists():
            assert "simulated" in rows_of(table_of)[0], page
