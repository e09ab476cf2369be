"""`hooke calibrate` with real ranks: one short calibration, saved, read and compared with itself."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hooke.calibration.documents import load
from hooke.calibration.operations import SUMS
from hooke.calibration.starting import calibrate
from hooke.cli.group import load as load_command
from hooke.errors import CalibrationError


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory) -> tuple[Path, str]:
    file = tmp_path_factory.mktemp("calibration") / "c.json"
    command = [sys.executable, "-m", "hooke", "calibrate", "--seconds", "1", "--save", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    return file, done.stdout


def test_it_measures_everything(calibrated):
    found = load(calibrated[0])
    assert (found.workers, found.hosts) == (2, 1)
    assert found.versions["mpi"]
    assert 0.1 < found.start.seconds < 60
    for collective in ("tree", "halving", "ring", "library"):
        curve = found.curve("all-reduce", collective)
        assert [p.bytes for p in curve.points] == list(SUMS)
        assert (curve.line is None) == (collective == "library")
    message = found.curve("message")
    assert message.points[-1].seconds > message.points[0].seconds > 0
    assert {c.kind for c in found.curves} >= {
        "stream",
        "all-gather",
        "window get",
        "window add",
        "copy",
        "add",
        "background",
    }
    (rate,) = found.compute
    assert (rate.workload, rate.precision) == ("digits-mlp", "fp32")
    small, _, large = rate.points
    assert 0 < small.seconds < large.seconds  # 16 times the samples
    assert rate.loop.seconds > 0
    among = rate.exchanging
    parts = (among.added, among.alone)
    unsure = sum(each.error for each in (*parts, among.last))  # other tests use the cores, too
    assert 0 < among.last.seconds < sum(each.seconds for each in parts) + unsure
    assert among.after.seconds > 0
    assert among.late.samples == among.after.samples  # a difference, 0 where a late one takes no longer


def test_the_table_has_units_and_errors(calibrated):
    printed = calibrated[1]
    for word in ("+-", "PER BYTE (beta)", "all-reduce, halving", "start-up", "digits-mlp, fp32"):
        assert word in printed


def test_it_is_compared_with_itself(calibrated):
    from hooke.calibration.drift import told

    found = load(calibrated[0])
    assert any("no difference" in text for text in told(found, found))


def test_failing_ranks_are_told(monkeypatch):
    monkeypatch.setattr("hooke.calibration.launching.PROGRAM", ("-c", "raise SystemExit('ranks cannot measure')"))
    with pytest.raises(CalibrationError, match="ranks cannot measure"):
        calibrate(2, [], seconds=1, starts=1)


@pytest.mark.parametrize(("option", "value"), [("--workload", "nothing"), ("--precision", "fp8")])
def test_wrong_options_are_named(option, value):
    command = load_command("calibrate", "hooke.cli.calibrate:calibrate")
    ended = CliRunner().invoke(command, [option, value])
    assert ended.exit_code == 2
    assert value in ended.output
