"""From which checkpoint a later attempt goes on: the latest good one of those that count."""

import json

import numpy as np
import pytest
from hooke.cluster import local_run
from hooke.cluster.earlier import adopt_checkpoint
from hooke.cluster.places import Home
from hooke.errors import CheckpointError
from hooke.spec.specification import RunSpec

from tests.engine.cli.conftest import RUN


def write(home: Home, attempt: int, samples: int, ranks: int = 2):
    """Write a checkpoint as ranks do; return its folder."""
    place = home.attempt("run_a", attempt).path / "checkpoints" / str(samples)
    place.mkdir(parents=True)
    for rank in range(ranks):
        np.savez(place / f"rank.{rank}.npz", weights=np.arange(5000) + samples + rank)
    (place / "complete.json").write_text(json.dumps({"ranks": ranks, "identity": "x"}))
    return place


def adopted(home: Home, attempt: int, earliest: int = 1) -> dict[int, int]:
    """Return samples -> first weight of rank 1 of the checkpoints that an attempt then has."""
    folder = home.attempt("run_a", attempt)
    folder.path.mkdir(parents=True, exist_ok=True)
    found = adopt_checkpoint(folder, earliest)
    kept = {int(p.name): int(np.load(p / "rank.1.npz")["weights"][0]) for p in folder.path.glob("checkpoints/*")}
    assert found == bool(kept)
    return kept


def test_the_latest_of_the_latest_attempt_counts(tmp_path):
    home = Home(tmp_path)
    write(home, 1, 900)
    for samples in (200, 1000, 300):
        write(home, 2, samples)
    assert adopted(home, 4) == {1000: 1001}  # attempt 3 wrote none
    assert adopted(home, 4) == {1000: 1001}


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "rank.1.npz").unlink(),
        lambda place: (place / "rank.1.npz").write_bytes(b""),
        lambda place: (place / "rank.0.npz").write_bytes((place / "rank.0.npz").read_bytes()[:-200]),
        lambda place: flip(place / "rank.0.npz"),
        lambda place: (place / "complete.json").write_text(""),
        lambda place: (place / "complete.json").unlink(),
    ],
    ids=["missing", "empty", "cut", "one byte", "no count", "incomplete"],
)
def test_a_damaged_one_is_passed_over(tmp_path, damage):
    """As a host leaves it that lost its power while it was written."""
    home = Home(tmp_path)
    write(home, 1, 400)
    damage(write(home, 1, 500))
    assert adopted(home, 2) == {400: 401}
    damage(write(home, 3, 700))
    assert adopted(home, 4) == {400: 401}


def flip(path):
    """Change one byte of the values."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_one_that_starts_over_takes_none_and_later_ones_go_on_from_it(tmp_path):
    home = Home(tmp_path)
    write(home, 1, 900)
    assert adopted(home, 2, earliest=2) == {}
    assert adopted(home, 3, earliest=2) == {}
    write(home, 2, 100)
    assert adopted(home, 4, earliest=2) == {100: 101}


def test_what_there_is_to_resume_from_is_told(tmp_path):
    spec = RunSpec.model_validate(RUN)
    with pytest.raises(CheckpointError, match="no complete checkpoint to resume from: none was written; start"):
        local_run.resumes_from(tmp_path, spec)
    for samples, names in ((320, ["complete.json"]), (640, ["complete.json"]), (960, ["rank.0.npz"])):
        place = tmp_path / "checkpoints" / str(samples)
        place.mkdir(parents=True)
        for name in names:
            (place / name).touch()
    told = local_run.resumes_from(tmp_path, spec)
    assert told.startswith("resuming at 640 of ")
    assert told.endswith("an earlier one is at 320; incomplete and not used: 960 samples (1 of 2 ranks)")
    for samples in (320, 640):
        (tmp_path / "checkpoints" / str(samples) / "complete.json").unlink()
    with pytest.raises(CheckpointError, match=r"incomplete and not used: 320 samples \(0 of 2 ranks\), 640"):
        local_run.prepare(tmp_path, spec, resume=True)
