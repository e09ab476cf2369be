"""One site for all tests of this folder: what one test kills, it starts again."""

import tempfile
from pathlib import Path

import pytest

from tests.api.databases import sqlite_template  # fixtures count where they are imported
from tests.cluster.acceptance.installation import Site

__all__ = ["sqlite_template"]


@pytest.fixture(scope="module")
def site(program_path, sqlite_template):
    """Return a running Site, which works also while nobody asks it, and so ends with its file.

    Its folder has a short name, because a socket's path may not be long.
    """
    with tempfile.TemporaryDirectory(prefix="hooke-") as folder:
        site = Site(Path(folder), program_path("redis"), sqlite_template)
        yield site
        site.close()
