"""Argument handling shared by both worlds: views of vectors as arrays, checks, traffic counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.comm.base import Traffic
from hooke.comm.schedule import Round, sent
from hooke.errors import CommError

Array = NDArray[Any]
Words = tuple[float, ...]

MOST_WORDS = 8
"""Maximum number of control words per message."""


def array_of(x: Any) -> Array:
    """Return the argument, or the array that shares memory with a tensor.

    Raises CommError unless it is one-dimensional and contiguous.
    """
    array: Array = x if isinstance(x, np.ndarray) else x.numpy()
    if array.ndim != 1 or not array.flags.c_contiguous:
        raise CommError(f"vectors must be flat and contiguous; this one has shape {array.shape}")
    return array


def landing(x: Any, into: Any | None) -> Array:
    """Return the array in which a sum is formed: that of x, or that of `into`, into which x is copied first."""
    array = array_of(x)
    if into is None:
        return array
    target = array_of(into)
    check_length(target.size, array.size, "an all-reduce into another vector")
    np.copyto(target, array, casting="no")
    return target


def block_length(array: Array, size: int) -> int:
    """Return the length of each rank's block in a vector of `size` blocks, or raise CommError."""
    if array.size % size:
        raise CommError(
            f"a gather needs a vector of {size} equal blocks, one per rank, not of {array.size} elements"
        )
    return array.size // size


def check_message(sent: int, room: int, itemsize: int, what: str) -> None:
    """Raise CommError unless a message of `sent` bytes fits a vector of `room` bytes; only bytes may be fewer."""
    if itemsize > 1 or sent > room:
        check_length(sent // itemsize, room // itemsize, what)


def check_rank(rank: int, size: int) -> int:
    """Return the rank, or raise CommError when the communicator has no such rank."""
    if not 0 <= rank < size:
        raise CommError(f"there is no rank {rank}: this communicator has the ranks 0 to {size - 1}")
    return rank


def check_words(words: Sequence[float]) -> Words:
    """Return the control words as a tuple, or raise CommError when they are too many."""
    if len(words) > MOST_WORDS:
        raise CommError(f"at most {MOST_WORDS} control words travel at once, not {len(words)}")
    return tuple(words)


def check_length(offered: int, expected: int, what: str) -> None:
    """Raise CommError when two ranks pass vectors of different lengths."""
    if offered != expected:
        raise CommError(f"{what}: one rank offers {offered} elements, the other expects {expected}")


def count_collective(traffic: Traffic, array: Array, rounds: Sequence[Round], asked: bool) -> None:
    """Count one rank's part of a collective: payload |W| bytes if `asked`, wire bytes as sent by its rounds."""
    elements, messages = sent(rounds)
    traffic.payload += array.nbytes if asked else 0
    traffic.wire += elements * array.itemsize
    traffic.messages += messages


def count_gather(traffic: Traffic, array: Array, block: int, rounds: Sequence[Round], asked: bool) -> None:
    """Count one rank's part of a gather or all-gather: the payload is its own block, if `asked`."""
    count_collective(traffic, array[:block], rounds, asked)


def count_message(traffic: Traffic, array: Array) -> None:
    """Count a vector sent from rank to rank. Receives count nothing, so that sums over ranks are correct."""
    traffic.payload += array.nbytes
    traffic.wire += array.nbytes
    traffic.messages += 1


def count_one_sided(traffic: Traffic, array: Array, travels: bool) -> None:
    """Count a get, put or accumulate as one message, also in shared memory, unless the rank is the owner."""
    traffic.payload += array.nbytes
    traffic.wire += array.nbytes if travels else 0
    traffic.messages += travels
