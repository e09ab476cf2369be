"""A checkpoint is whole and of this run, or it is refused by one error that says which file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hooke.comm.virtual.communicator import run_virtual
from hooke.errors import CheckpointError
from hooke.loop import checkpoint

from tests.engine.contract.cases import Case, objective_of, train, watched

CASE = Case("sync-easgd", workers=2, halt=12)


def attempt(case, folder, first):
    with watched():
        run_virtual(
            case.ranks,
            case.spec("virtual").virtual,
            lambda comm: train(comm, case, "virtual", folder, objective_of(comm, case, "virtual"), first),
        )


@pytest.fixture
def place(tmp_path):
    attempt(CASE, tmp_path, True)
    place = checkpoint.latest(tmp_path)
    assert place is not None
    return place


def test_it_holds_every_state_of_every_rank(place):
    assert json.loads((place / "complete.json").read_text())["ranks"] == 2
    for rank in range(2):
        with np.load(place / f"rank.{rank}.npz") as file:
            assert set(file.files) == {"params", "center", "meta"}
    assert not list(place.glob("*.tmp"))


def test_without_a_checkpoint_a_restart_begins_anew(tmp_path):
    attempt(CASE, tmp_path, False)


def test_an_incomplete_checkpoint_is_not_there(place, tmp_path):
    (place / "complete.json").unlink()
    assert checkpoint.latest(tmp_path) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(CASE, seed=6),
        replace(CASE, parameters=(("rho", 0.5),)),
        replace(CASE, every=16),
    ],
    ids=["seed", "rho", "cadence"],
)
def test_a_checkpoint_of_another_run_is_refused(place, tmp_path, other):
    with pytest.raises(CheckpointError, match="another run"):
        attempt(other, tmp_path, False)


def test_a_larger_budget_is_the_same_run(place, tmp_path):
    attempt(replace(CASE, steps=20), tmp_path, False)


DAMAGES = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "a flipped bit": lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
    "not an archive": lambda data: b"hello",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_name(place, tmp_path, damage):
    path = place / "rank.1.npz"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(CheckpointError, match=r"rank\.1\.npz"):
        attempt(CASE, tmp_path, False)


def test_a_missing_rank_is_refused_by_name(place, tmp_path):
    (place / "rank.1.npz").unlink()
    with pytest.raises(CheckpointError, match=r"rank\.1\.npz"):
        attempt(CASE, tmp_path, False)


def test_a_file_without_its_description_is_refused_by_name(place, tmp_path):
    np.savez(place / "rank.1.npz", params=np.zeros(3, np.float32))
    with pytest.raises(CheckpointError, match=r"rank\.1\.npz"):
        attempt(CASE, tmp_path, False)
