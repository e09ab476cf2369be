"""One site for all tests of this folder: what one test kills, it starts again."""

import tempfile
from pathlib import Path

import pytest

from tests.cluster.acceptance.installation import Site


@pytest.fixture(scope="session")
def site(program_path):
    """Return a running Site; its folder has a short name, because a socket's path may not be long."""
    with tempfile.TemporaryDirectory(prefix="hooke-") as folder:
        site = Site(Path(folder), program_path("redis"))
        yield site
        site.close()
