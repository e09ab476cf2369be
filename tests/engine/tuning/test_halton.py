"""The points that a search tries are those of SciPy, which is not imported for them."""

import subprocess
import sys

import pytest
from hooke.tuning.halton import halton
from scipy.stats import qmc


@pytest.mark.parametrize("dimensions", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("seed", [0, 5])
def test_points_are_those_of_scipy_to_the_last_bit(dimensions, seed):
    wanted = qmc.Halton(dimensions, scramble=True, rng=seed).random(3000).tolist()
    assert list(halton(dimensions, 3000, 0, seed)) == wanted
    assert list(halton(dimensions, 3000, 2990, seed)) == wanted[2990:]


def test_without_dimensions_a_point_has_no_shares():
    assert next(halton(0, 1, 0, 0)) == []


def test_a_process_that_plans_a_search_does_not_keep_scipy_in_memory():
    program = "import sys; from hooke.tuning.settings import halton; next(halton(3, 1, 0, 0)); "
    program += "sys.exit(any(name.partition('.')[0] == 'scipy' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
