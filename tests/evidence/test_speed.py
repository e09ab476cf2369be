"""The speed of the machine beside what was timed on it."""

from pathlib import Path

from benchmarks import speed
from benchmarks.methods import conditions, table
from benchmarks.methods.runs import cells


def test_a_slower_machine_is_told():
    assert speed.told([10.0, 11.0, None]) == "A fixed piece of work took 10.0 to 11.0 ms just before these runs."
    assert "**the machine's own speed changed meanwhile**, by a factor of 1.5" in speed.told([10.0, 15.0])
    assert speed.told([None, None]) == ""


def test_the_probe_measures_work():
    """It is neither nothing nor a burden: a run takes seconds."""
    assert 0.5 < speed.probe() < 2_000


def test_a_table_of_timed_runs_says_how_fast_the_machine_was(tmp_path):
    place = conditions.PLACES["local"]
    cell = cells(place, 1, ["sync-sgd"])[0]
    result = {"state": "succeeded", "evaluations": [], "test_accuracy": 0.99, "time_to_target": 1.0}
    result |= {"samples_to_target": 10, "communication_fraction": 0.1}
    found = [(cell, result | {"machine_ms": 8.0}), (cell, result | {"machine_ms": 16.0}), (cell, result)]
    table.write(Path(tmp_path / "page"), place, found, 3)
    said = (tmp_path / "page.md").read_text()
    assert "8.0 to 16.0 ms just before these runs: **the machine's own speed changed" in said
    assert "Of 1 of them it was not taken down." in said
    assert (tmp_path / "page.csv").read_text().splitlines()[0].endswith("machine_ms,fingerprint")
