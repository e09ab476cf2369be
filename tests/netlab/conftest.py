"""Emulated hosts for tests: skipped loudly where there can be none, unless HOOKE_REQUIRE names `netlab`."""

import os
import random
import struct
from pathlib import Path

import pytest

from benchmarks.netlab import lab as labs
from tests.conftest import required

RATE = "400mbit"


@pytest.fixture(scope="session")
def rights() -> None:
    if reason := labs.lacking():
        if "netlab" in required():
            pytest.fail(f"HOOKE_REQUIRE={os.environ['HOOKE_REQUIRE']} forbids to skip: {reason}", pytrace=False)
        pytest.skip(f"NOT TESTED HERE: {reason} (HOOKE_REQUIRE=netlab makes this fail)")


@pytest.fixture(scope="session")
def lab(rights):
    """Return two hosts."""
    with labs.held(2, RATE, lab_name()) as made:
        yield made


def lab_name(what: str = "") -> str:
    """Return a name that no other process of tests uses."""
    return f"test{what}{os.getpid()}"


@pytest.fixture(scope="session")
def noise(tmp_path_factory) -> Path:
    """Return a data folder whose MNIST is a few noisy images: enough to compare arithmetic."""
    folder = tmp_path_factory.mktemp("data") / "mnist"
    folder.mkdir()
    draw = random.Random(0)
    for part, count in (("train", 640), ("t10k", 64)):
        images = struct.pack(">4I", 0x0803, count, 28, 28) + draw.randbytes(count * 28 * 28)
        labels = struct.pack(">2I", 0x0801, count) + bytes(draw.randrange(10) for _ in range(count))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)
    return folder.parent
