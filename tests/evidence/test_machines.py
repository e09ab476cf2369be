"""Results of several machines side by side: never mixed, and gone on from what was published."""

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.evidence import machine, records
from benchmarks.evidence.conditions import BEST, FULL, ORIGINAL
from benchmarks.evidence.pages import END, index, machines, write
from benchmarks.evidence.store import Store
from tests.evidence.reading import lines

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results"


def test_the_index_keeps_what_stands_around_its_table(pages, tmp_path):
    text = (pages.parent / "README.md").read_text()
    assert text.startswith("# Results\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "[claims](a-machine/claims.md)" in text
    assert "old" not in text
    (tmp_path / "README.md").write_text("no place for it")
    with pytest.raises(ValueError, match="has lost one of the lines"):
        index(FULL, tmp_path)


def test_machines_stand_side_by_side(pages, recorded, tmp_path):
    """Another machine that was twice as slow throughout: the same quotients, in a column of its own."""
    shutil.copytree(pages, tmp_path / "a-machine")
    shutil.copy(pages.parent / "README.md", tmp_path)
    runs, sessions = recorded
    other = Store(tmp_path / "store")
    for folder in ("runs", "sessions"):
        (other.folder / folder).mkdir(parents=True)
    for key, run in runs.items():
        took = run["result"]["time_to_target"]
        slow = run["result"] | {"time_to_target": 2 * took if took else None}
        (other.folder / "runs" / f"{key}.json").write_text(json.dumps(run | {"result": slow}))
    for name, session in sessions.items():
        hardware = session["hardware"] | {"cpu": "Other(R) Processor"}
        (other.folder / "sessions" / f"{name}.json").write_text(json.dumps(session | {"hardware": hardware}))
    write(FULL, other, tmp_path / "other-machine")
    index(FULL, tmp_path)
    (quotient,) = [
        cells
        for cells in lines(tmp_path / "README.md", f"{BEST.label} over {ORIGINAL.label}")
        if "2 emulated hosts" in cells[1]
    ]
    assert quotient[2] == "≥ 5.3x"
    (said,) = [cells for cells in lines(pages / "claims.md", quotient[0]) if cells[4]]
    assert quotient[3] == quotient[4] == said[4].partition("; the server")[0]
    (header,) = lines(tmp_path / "README.md", "claim")
    assert header[4] == "Other(R) Processor, 2 cores"
    assert header[3] != header[4]
    assert [folder.name for folder in machines(tmp_path)] == ["a-machine", "other-machine"]


def test_a_machine_goes_on_from_what_was_published(pages, store, recorded, tmp_path):
    """A store that is gone is made up for by the raw data; a run that both have is the one of the store."""
    assert Store(tmp_path / "gone", published=pages / "data").evidence() == records.read(pages / "data")
    key = next(key for key, run in recorded[0].items() if run["cell"]["kind"] == "target")
    again = Store(tmp_path / "again", published=pages / "data")
    (again.folder / "runs").mkdir(parents=True)
    (again.folder / "runs" / f"{key}.json").write_text(
        json.dumps(recorded[0][key] | {"commit": "later", "session": "20300101-000000"})
    )
    found = again.evidence()
    assert found.runs.keys() == recorded[0].keys()
    assert [run.key for run in found.runs.values() if run.commit == "later"] == [key]
    assert store.evidence().curves[key] == found.curves[key]


@pytest.mark.parametrize(
    "cpu, cores, name",
    [
        ("Intel(R) Xeon(R) Processor", 2, "intel-xeon-2-cores"),
        ("AMD EPYC", 2, "amd-epyc-2-cores"),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 28, "intel-xeon-e5-2680-v4-28-cores"),
        ("../x", 1, "x-1-cores"),
    ],
)
def test_a_machine_is_called_by_its_processor_and_cores(cpu, cores, name):
    assert machine.name_of({"cpu": cpu, "cores": cores}) == name


@pytest.mark.parametrize("published", list(machines(PUBLISHED)), ids=lambda folder: folder.name)
def test_the_pages_in_the_repository_are_those_of_their_raw_data(published, tmp_path):
    """Whoever changes how pages are written writes them anew: python -m benchmarks.evidence pages --kept."""
    shutil.copytree(published / "data", tmp_path / "data")
    for path in write(FULL, None, tmp_path):
        kept = published / path.relative_to(tmp_path)
        assert kept.exists(), kept
        if path.suffix != ".svg":  # their digits are matplotlib's affair
            assert path.read_text() == kept.read_text(), f"{kept}: python -m benchmarks.evidence pages --kept"
    sessions = json.loads((published / "data" / "sessions.json").read_text())
    assert {machine.name_of(session["hardware"]) for session in sessions.values()} == {published.name}
    assert sum(path.stat().st_size for path in published.rglob("*") if path.is_file()) < 500_000


def test_the_index_in_the_repository_is_that_of_its_machines(tmp_path):
    for published in machines(PUBLISHED):
        shutil.copytree(published / "data", tmp_path / published.name / "data")
    shutil.copy(PUBLISHED / "README.md", tmp_path)
    index(FULL, tmp_path)
    assert (tmp_path / "README.md").read_text() == (PUBLISHED / "README.md").read_text()
