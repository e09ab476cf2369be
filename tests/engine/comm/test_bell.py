"""A bell wakes who waits, at once, also from another process, and does no harm where nobody hears it."""

import errno
import socket
import subprocess
import sys
import threading
import time

import pytest
from hooke.comm.mpi.bell import Bell

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names without files are of Linux")


@pytest.fixture
def bells():
    made = [Bell(), Bell()]
    yield made
    for each in made:
        each.close()


def test_who_waits_is_woken_long_before_the_time_is_over(bells):
    mine, other = bells
    threading.Timer(0.05, other.ring, [mine.name]).start()
    began = time.monotonic()
    assert mine.wait(100)
    assert time.monotonic() - began < 50
    assert not mine.wait(0), "one ring, one answer"


def test_a_ring_before_the_wait_counts_and_many_are_one(bells):
    mine, other = bells
    assert all(other.ring(mine.name) for _ in range(1000)), "nobody blocks on who does not listen"
    assert mine.wait(20)
    assert not mine.wait(0)


def test_another_process_rings(bells):
    text = f"from hooke.comm.mpi.bell import Bell; print(Bell().ring({bells[0].name!r}))"
    assert (
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "True\n"
    )
    assert bells[0].wait(20)


def test_who_has_ended_is_not_rung(bells):
    mine, other = bells
    name = other.name
    other.close()
    assert not mine.ring(name)
    assert not other.ring(mine.name)
    assert not other.wait(0)


def test_a_lack_of_buffers_is_no_end_of_a_process(bells, monkeypatch):
    """A worker whose bell is gone is dropped from a run: nothing else may look like it."""
    mine, other = bells

    class Short:
        def sendto(self, *_):
            raise OSError(errno.ENOBUFS, "No buffer space available")

        def __getattr__(self, name):
            return getattr(kept, name)

    kept = mine._socket
    monkeypatch.setattr(mine, "_socket", Short())
    assert mine.ring(other.name)


def test_without_such_sockets_there_is_no_bell(monkeypatch):
    def refuse(*_):
        raise OSError("no")

    monkeypatch.setattr(socket, "socket", refuse)
    assert Bell().name == ""


ENDING = """
import threading

from hooke.comm.mpi.bell import Bell
from hooke.comm.mpi.wait import Patience
from hooke.errors import CommError, RankLost
from mpi4py import MPI

patience, ending, other = Patience(MPI.COMM_SELF), Bell(), Bell()
patience._names = ["", ending.name, other.name]
patience.watch([1])

def torn():
    threading.Timer(0.1, ending.close).start()
    raise MPI.Exception(MPI.ERR_OTHER)

for of in (1, 2):
    try:
        patience.until(torn, of=of)
    except CommError as error:
        print(type(error) is RankLost)
"""


def test_an_error_of_mpi_is_the_end_of_a_watched_process_that_ends():
    """Its memory, from which a long message is read, goes before its bell; others are errors as before."""
    found = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]
