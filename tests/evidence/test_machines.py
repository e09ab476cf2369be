"""Results of several machines side by side: never mixed, and gone on from what was published."""

import json
import shutil
from pathlib import Path

import pytest

from benchmarks.evidence import machine, precision, records
from benchmarks.evidence.matrix import FULL, without_bf16
from benchmarks.evidence.methods import EASGD3, ORIGINAL
from benchmarks.evidence.pages import BEGIN, END, index, machines, write
from benchmarks.evidence.store import Store
from tests.evidence.conftest import SECONDS
from tests.evidence.reading import lines
from tests.evidence.storing import method, pace, stored

PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results"


RATIO = f"{EASGD3.label} over {ORIGINAL.label}"


def test_the_index_keeps_what_stands_around_its_table(pages, tmp_path):
    text = (pages.parent / "README.md").read_text()
    assert text.startswith("# Results\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "[replication](a-machine/replication.md)" in text
    assert "[co-design](a-machine/codesign.md)" in text
    assert "\nold\n" not in text
    (tmp_path / "README.md").write_text("no place for it")
    with pytest.raises(ValueError, match="lacks one of the lines"):
        index(tmp_path)


def test_the_index_of_no_machine_says_so(tmp_path):
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    index(tmp_path)
    assert "No machine has been measured" in (tmp_path / "README.md").read_text()


def on(cpu, sessions):
    """Return sessions as if they had been on another processor."""
    return {name: session | {"hardware": session["hardware"] | {"cpu": cpu}} for name, session in sessions.items()}


def test_machines_stand_side_by_side(pages, recorded, tmp_path):
    """Another machine that was twice as slow throughout: the same ratios, in a column of its own."""
    shutil.copytree(pages, tmp_path / "a-machine")
    shutil.copy(pages.parent / "README.md", tmp_path)
    slow = {}
    for label, times in SECONDS.items():
        slow |= method("2-hosts", label, {seed: 2 * time for seed, time in enumerate(times)})
    sessions = on("Other(R) Processor", recorded[1])
    write(FULL, stored(tmp_path / "store", slow, sessions), tmp_path / "other-machine")
    index(tmp_path)
    told = [cells for cells in lines(tmp_path / "machines.md", RATIO) if "2 emulated hosts" in cells[0]]
    (ratio,) = told
    assert ratio[1] == ratio[2]
    assert ratio[1].endswith("n = 5: faster")
    assert ratio[0].endswith("(2 emulated hosts on 2 cores: a core each)")
    (header,) = lines(tmp_path / "machines.md", "ratio")
    assert header[2] == "Other(R) Processor, 2 cores, bf16"
    assert header[1] != header[2]
    assert [folder.name for folder in machines(tmp_path)] == ["a-machine", "other-machine"]


def test_a_machine_without_root_is_shown_by_what_it_could_measure(pages, recorded, tmp_path):
    """Beside one with emulated hosts: each has its own pages, and what is simulated says so in the index."""
    shutil.copytree(pages, tmp_path / "a-machine")
    shutil.copy(pages.parent / "README.md", tmp_path)
    runs = {}
    for label in (ORIGINAL.label, EASGD3.label):
        runs |= method("virtual", label, dict(enumerate(SECONDS[label])))
    write(FULL, stored(tmp_path / "store", runs, on("Rootless", recorded[1])), tmp_path / "rootless")
    found = {page.stem for page in (tmp_path / "rootless").glob("*.md")}
    assert found == {"replication", "codesign", "pace", "virtual"}
    index(tmp_path)
    told = {cells[0]: cells for cells in lines(tmp_path / "machines.md", RATIO)}
    virtual = next(cells for where, cells in told.items() if where.endswith("(simulated)"))
    hosts = next(cells for where, cells in told.items() if "2 emulated hosts" in where)
    assert virtual[1] == hosts[2] == "not measured"
    assert virtual[2].partition(",")[0] == hosts[1].partition(",")[0], "the same runs, elsewhere"


def test_a_run_whose_session_is_lost_does_not_hide_the_others(recorded, tmp_path):
    runs, sessions = recorded
    lost, kept = sessions
    runs = {key: run | {"session": (lost, kept)[n % 2]} for n, (key, run) in enumerate(runs.items())}
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    write(FULL, stored(tmp_path / "store", runs, {kept: sessions[kept]}), tmp_path / "a-machine")
    index(tmp_path)
    assert sessions[kept]["hardware"]["cpu"] in (tmp_path / "README.md").read_text()
    write(FULL, stored(tmp_path / "bare", runs, {}), tmp_path / "a-machine")
    index(tmp_path)
    assert "processor not known, bf16 |" in (tmp_path / "README.md").read_text()


def test_a_machine_goes_on_from_what_was_published(pages, store, recorded, tmp_path):
    """A store that is gone is made up for by the raw data; a run that both have is the one of the store."""
    assert Store(tmp_path / "gone", published=pages / "data").evidence() == records.read(pages / "data")
    key = next(
        key for key, run in recorded[0].items() if run["cell"]["kind"] == "target" and run["result"]["evaluations"]
    )
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


def test_without_bf16_everything_is_in_fp32_and_says_so(recorded, tmp_path):
    matrix, runs = without_bf16(FULL), {}
    without = {name: s | {"precision": "fp32"} for name, s in recorded[1].items()}
    for label, times in SECONDS.items():
        runs |= method("2-hosts", label, dict(enumerate(times)), matrix=matrix)
    runs |= pace("here", "Hooke, fp32", {0: 500.0}, matrix)
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    write(FULL, stored(tmp_path / "store", runs, without), tmp_path / "machine")
    index(tmp_path)
    assert ", 2 cores, fp32 |" in (tmp_path / "README.md").read_text()
    assert "compute in fp32" in (tmp_path / "machine" / "2-hosts.md").read_text()
    pace_page = (tmp_path / "machine" / "pace.md").read_text()
    assert "Hooke, fp32 | 500" in pace_page
    assert "Hooke, bf16" not in pace_page
    told = [cells for cells in lines(tmp_path / "machines.md", RATIO) if "2 emulated hosts" in cells[0]]
    assert told[0][1].endswith("faster")


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
    size = sum(path.stat().st_size for path in published.rglob("*") if path.is_file())
    assert size < 2_000 * len((published / "data" / "runs.csv").read_text().splitlines()), "a run is 2 kB at most"


def test_the_index_in_the_repository_is_that_of_its_machines(tmp_path):
    for published in machines(PUBLISHED):
        shutil.copytree(published / "data", tmp_path / published.name / "data")
    shutil.copy(PUBLISHED / "README.md", tmp_path)
    index(tmp_path)
    for page in ("README.md", "machines.md", "paper.md"):
        assert (tmp_path / page).read_text() == (PUBLISHED / page).read_text()
