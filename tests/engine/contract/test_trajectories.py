"""Trajectories are those on file, to 1e-6: a change of any method's numbers is seen, and has to be meant."""

import json

import numpy as np
import pytest
from hooke.catalogue.discovery import built_in

from tests.checkout import ROOT
from tests.engine.contract.cases import Case
from tests.engine.contract.trajectories import PLACE, pinned, trajectory


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


def test_every_method_is_on_file_and_nothing_else():
    examples = {path.stem.replace("_", "-") for path in (ROOT / "examples/own/algorithms").glob("*.py")}
    assert {path.stem for path in PLACE.glob("*.json")} == {*built_in("algorithm"), *examples}
    assert sum(path.stat().st_size for path in PLACE.iterdir()) < 100_000


@pytest.mark.property("pinned")
@pytest.mark.parametrize("case", pinned(), ids=ids)
def test_a_trajectory_is_the_one_on_file(played, case):
    """Made anew by `make algorithms`."""
    if not (PLACE / f"{case.algorithm}.json").exists():
        pytest.skip(f"NOT VERIFIED: no trajectory of {case.algorithm} is on file")
    then = json.loads((PLACE / f"{case.algorithm}.json").read_text())
    now = json.loads(json.dumps(trajectory(case, played(case, "virtual"))))
    assert {name: now[name] for name in ("parameters", "workers", "samples")} == {
        name: then[name] for name in ("parameters", "workers", "samples")
    }
    loose = (
        100 if case.algorithm == "powersgd" else 1
    )  # it grows a difference in the last bit: see `assert_follows`
    for name in ("loss", "center", "worker 0"):
        np.testing.assert_allclose(now[name], then[name], rtol=1e-6 * loose, atol=1e-6 * loose, err_msg=name)
