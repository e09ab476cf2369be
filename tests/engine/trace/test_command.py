"""`hooke run --trace`, as users call it."""

import json
import subprocess
import sys

import pytest
import yaml
from hooke.cli.group import app
from hooke.spec.journal import records
from typer.testing import CliRunner

from tests.engine.cli.conftest import RUN
from tests.engine.trace.rules import check, span, track


def hooke(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "hooke", *map(str, arguments)],
        check=False, capture_output=True, text=True, cwd=folder, timeout=120,
    )  # fmt: skip


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(RUN))
    return path


@pytest.mark.usefixtures("warm_ranks")
def test_a_run_leaves_one_file(tmp_path, spec):
    ended = hooke(tmp_path, "run", spec, "--world", "mpi", "--trace", "t.json", "--run-dir", "out", "--json")
    assert ended.returncode == 0, ended.stderr
    assert "trace of 2 ranks: t.json, for https://ui.perfetto.dev" in ended.stderr
    assert json.loads(ended.stdout)["trace"] == "t.json"
    document = json.loads((tmp_path / "t.json").read_text())
    check(document)
    assert document["otherData"]["simulated"] is False
    for rank in range(2):
        done = list(records(tmp_path / f"out/journal.{rank}.jsonl"))[-1]
        for phase, expected in done.phases.items():
            slices = [span(s) for s in track(document, rank, "phases") if s["name"] == phase]
            drawn = sum(ended - began for began, ended in slices) * 1e-9
            assert drawn == pytest.approx(expected, rel=1e-6, abs=1e-9 * (len(slices) + 100)), phase
        messages = [s.get("args", {}) for s in track(document, rank, "blocked in") if s["cat"] == "message"]
        assert sum(m.get("payload_bytes", 0) for m in messages) == done.payload > 0
    assert len(list((tmp_path / "out").glob("trace.*.bin"))) == 2


@pytest.mark.parametrize(("name", "why"), [("nowhere/t.json", "does not exist"), (".", "Is a directory")])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(monkeypatch, tmp_path, spec, name, why):
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, ["run", str(spec), "--trace", name, "--run-dir", "out"])
    assert ended.exit_code == 2
    assert why in ended.stderr
    assert "--trace" in ended.stderr
    assert not (tmp_path / "out").exists()
