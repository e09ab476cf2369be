"""Several runs under one mpirun: each has the bits that it has alone, on as many ranks as it needs."""

import json

import numpy as np
import pytest
from hooke.catalogue.algorithm import ranks_of
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.spec.invariants import faults
from hooke.spec.journal import records

from tests.engine.comm.worlds import mpirun

NETWORK = {"latency": 1e-5, "seconds_per_byte": 1e-9, "compute_seconds_per_sample": 1e-4}
RUNS = (
    ("sync-easgd", {"momentum": 0.5}, 2, "bf16"),
    ("original-easgd", {}, 2, "fp32"),
    ("slowmo", {"period": 4}, 3, "int8"),
    ("sync-easgd", {"momentum": 0.5}, 2, "bf16"),
)


def document(algorithm, parameters, workers, wire, world="mpi"):
    return {
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": algorithm, "parameters": parameters},
        "communication": {"wire": wire},
        "workers": workers,
        "seed": 7,
        "world": world,
        "virtual": NETWORK if world == "virtual" else None,
        "budget": {"samples": 4000},
        "evaluation": {"every": 1000},
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return the folders of RUNS and of one that was cancelled, after they ran under one mpirun."""
    home = tmp_path_factory.mktemp("in-turn")
    places = [home / str(n) for n in range(len(RUNS) + 1)]
    for place, run in zip(places, (*RUNS, RUNS[0]), strict=True):
        place.mkdir()
        (place / "spec.json").write_text(json.dumps(document(*run)))
    (places[-1] / "cancel").touch()
    ended = mpirun(3, "hooke.loop.train", *map(str, places))
    assert ended.returncode == 0, ended.stderr[-4000:]
    return places


@pytest.mark.parametrize("n", range(len(RUNS)))
def test_each_has_the_bits_that_it_has_alone(folders, n):
    """In virtual time, where nothing is shared, a run has the bits that it has under MPI alone."""
    alone = run_spec_virtual(validate_run(document(*RUNS[n], world="virtual")))
    for rank, outcome in enumerate(alone):
        assert np.load(folders[n] / f"final.{rank}.npz")["weights"].tobytes() == outcome.weights.tobytes()


@pytest.mark.parametrize("n", range(len(RUNS)))
def test_each_has_its_own_journals_of_as_many_ranks_as_it_needs(folders, n):
    spec = validate_run(document(*RUNS[n]))
    journals = sorted(folders[n].glob("journal.*.jsonl"))
    assert len(journals) == ranks_of(spec)
    for journal in journals:
        found = list(records(journal))
        assert [found[0].kind, found[0].ranks, found[-1].kind] == ["start", ranks_of(spec), "done"]
        assert found[-1].reason == "budget"
    assert faults(folders[n]) == []


def test_processes_are_shared_and_a_cancelled_run_is_skipped(folders):
    pids = [next(iter(records(place / "journal.0.jsonl"))).pid for place in folders[:-1]]
    assert len(set(pids)) == 1
    assert [path.name for path in sorted(folders[-1].iterdir())] == ["cancel", "spec.json"]
