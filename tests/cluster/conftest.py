"""Fixtures of the cluster side."""

import pytest

from tests.cluster.bench import Bench


@pytest.fixture
def bench(tmp_path):
    """Return a Bench; every process of the test is gone afterwards."""
    bench = Bench(tmp_path)
    yield bench
    bench.close()
