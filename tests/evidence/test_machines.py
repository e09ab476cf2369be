"""Results of several machines side by side: never mixed, and gone on from what was published."""

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.evidence import machine, precision, records
from benchmarks.evidence.cells import count
from benchmarks.evidence.conditions import BEST, DDP_FULL, FULL, ORIGINAL, without_root
from benchmarks.evidence.pages import BEGIN, END, index, machines, write
from benchmarks.evidence.store import Store
from tests.evidence.reading import lines
from tests.evidence.storing import in_fp32, moved, stored

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results"


def test_the_index_keeps_what_stands_around_its_table(pages, tmp_path):
    text = (pages.parent / "README.md").read_text()
    assert text.startswith("# Results\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "[claims](a-machine/claims.md)" in text
    assert "old" not in text
    (tmp_path / "README.md").write_text("no place for it")
    with pytest.raises(ValueError, match="has lost one of the lines"):
        index(tmp_path)


def on(cpu, sessions):
    """Return sessions as if they had been on another processor."""
    return {name: session | {"hardware": session["hardware"] | {"cpu": cpu}} for name, session in sessions.items()}


def test_machines_stand_side_by_side(pages, recorded, tmp_path):
    """Another machine that was twice as slow throughout: the same quotients, in a column of its own."""
    shutil.copytree(pages, tmp_path / "a-machine")
    shutil.copy(pages.parent / "README.md", tmp_path)
    runs, sessions = recorded
    slow = {}
    for key, run in runs.items():
        took = run["result"]["time_to_target"]
        slow[key] = run | {"result": run["result"] | {"time_to_target": 2 * took if took else None}}
    write(FULL, stored(tmp_path / "store", slow, on("Other(R) Processor", sessions)), tmp_path / "other-machine")
    index(tmp_path)
    (quotient,) = [
        cells
        for cells in lines(tmp_path / "README.md", f"{BEST.label} over {ORIGINAL.label}")
        if "2 emulated hosts" in cells[1]
    ]
    assert quotient[2] == "≥ 5.3x"
    (said,) = [cells for cells in lines(pages / "claims.md", quotient[0]) if cells[4]]
    assert quotient[3] == quotient[4] == said[4]
    assert quotient[1].endswith("(2 emulated hosts on 2 cores: a core each)")
    (header,) = lines(tmp_path / "README.md", "claim")
    assert header[4] == "Other(R) Processor, 2 cores, bf16"
    assert header[3] != header[4]
    assert [folder.name for folder in machines(tmp_path)] == ["a-machine", "other-machine"]


def test_a_machine_without_root_is_shown_by_what_it_could_measure(pages, recorded, tmp_path):
    """Beside one with emulated hosts: each has its own pages, and what is simulated says so in the index."""
    shutil.copytree(pages, tmp_path / "a-machine")
    shutil.copy(pages.parent / "README.md", tmp_path)
    runs, sessions = recorded
    store = stored(tmp_path / "store", moved(runs, "virtual"), on("Rootless", sessions))
    write(FULL, store, tmp_path / "rootless")
    assert {page.stem for page in (tmp_path / "rootless").glob("*.md")} == {"claims", "pace", "virtual"}
    index(tmp_path)
    found = {cells[1]: cells for cells in lines(tmp_path / "README.md", f"{BEST.label} over {ORIGINAL.label}")}
    virtual = next(cells for where, cells in found.items() if where.endswith("(simulated)"))
    hosts = next(cells for where, cells in found.items() if "2 emulated hosts" in where)
    assert virtual[3] == hosts[4] == "not measured"
    assert virtual[4].partition(",")[0] == hosts[3].partition(",")[0], "the same runs, elsewhere"
    of = f"of {count(without_root(FULL))} runs"
    (line,) = [line for line in (tmp_path / "README.md").read_text().splitlines() if "rootless/claims.md" in line]
    assert of in line


def test_a_run_whose_session_is_lost_does_not_hide_the_others(recorded, tmp_path):
    runs, sessions = recorded
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    write(FULL, stored(tmp_path / "store", runs, dict(list(sessions.items())[1:])), tmp_path / "a-machine")
    index(tmp_path)
    assert next(iter(sessions.values()))["hardware"]["cpu"] in (tmp_path / "README.md").read_text()
    write(FULL, stored(tmp_path / "bare", runs, {}), tmp_path / "a-machine")
    index(tmp_path)
    assert "| processor not known, bf16 |" in (tmp_path / "README.md").read_text()


def test_a_machine_goes_on_from_what_was_published(pages, store, recorded, tmp_path):
    """A store that is gone is made up for by the raw data; a run that both have is the one of the store."""
    assert Store(tmp_path / "gone", published=pages / "data").evidence() == records.read(pages / "data")
    key = next(key for key, run in recorded[0].items() if run["cell"]["kind"] == "target")
    anew = {key: recorded[0][key] | {"commit": "later", "session": "20300101-000000"}}
    found = stored(tmp_path / "again", anew, {}, published=pages / "data").evidence()
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


def test_generations_of_one_name_are_told_apart():
    """Of two machines called "AMD EPYC" one computed bf16 in 6 ms, and the other in 67."""
    hardware = machine.hardware() | {
        "cpu": "AMD EPYC",
        "cores": 2,
        "generation": "family 25 model 1",
        "bf16": "emulated",
    }
    assert machine.name_of(hardware) == "amd-epyc-family-25-model-1-2-cores"
    assert machine.title_of(hardware) == "AMD EPYC (family 25 model 1), 2 cores"


def test_virtual_machines_of_one_processor_with_and_without_its_tiles_are_told_apart():
    hardware = {
        "cpu": "Intel(R) Xeon(R) Processor",
        "cores": 2,
        "generation": "family 6 model 207",
        "bf16": "tiles",
    }
    assert machine.name_of(hardware) == "intel-xeon-family-6-model-207-bf16-tiles-2-cores"
    assert machine.name_of(hardware | {"bf16": "vectors"}) == "intel-xeon-family-6-model-207-bf16-vectors-2-cores"


@pytest.mark.parametrize(
    ("bf16", "before", "is_chosen"),
    [
        ("tiles", [], {"bf16"}),
        ("emulated", [], {"fp32"}),
        ("vectors", [], {"bf16", "fp32"}),  # measured
        ("vectors", [{"precision": "fp32"}], {"fp32"}),
        ("vectors", [{"precision": "bf16"}], {"bf16"}),
        ("vectors", [{"of": "a session from before it was taken down"}], {"bf16"}),
    ],
)
def test_a_matrix_computes_in_what_is_fast_and_keeps_to_it(bf16, before, is_chosen):
    assert precision.chosen({"bf16": bf16}, before) in is_chosen


def test_without_runs_with_communication_off_no_scaling_is_drawn(recorded, tmp_path):
    runs, sessions = recorded
    some = {key: run for key, run in runs.items() if not run["cell"]["label"].startswith("communication off")}
    assert len(some) < len(runs)
    write(FULL, stored(tmp_path / "store", some, sessions), tmp_path / "machine")
    assert not (tmp_path / "machine" / "figures" / "scaling.svg").exists()
    assert "scaling.svg" not in (tmp_path / "machine" / "pace.md").read_text()


def test_without_bf16_everything_is_in_fp32_and_says_so(recorded, tmp_path):
    runs, sessions = recorded
    without = {name: s | {"precision": "fp32"} for name, s in sessions.items()}
    store = stored(tmp_path / "store", in_fp32(runs), without)
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    write(FULL, store, tmp_path / "machine")
    index(tmp_path)
    assert ", 2 cores, fp32 |" in (tmp_path / "README.md").read_text()
    assert "compute in fp32" in (tmp_path / "machine" / "2-hosts.md").read_text()
    claims = (tmp_path / "machine" / "claims.md").read_text()
    assert '"fp32"' in claims
    assert "one worker, bf16" not in claims
    assert not lines(tmp_path / "machine" / "claims.md", f"{BEST.label} over {DDP_FULL.label}, time to target")
    (told,) = [
        cells for cells in lines(tmp_path / "README.md", f"{BEST.label} over {ORIGINAL.label}") if "x" in cells[3]
    ]
    assert "2 emulated hosts" in told[1]


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
    index(tmp_path)
    assert (tmp_path / "README.md").read_text() == (PUBLISHED / "README.md").read_text()
