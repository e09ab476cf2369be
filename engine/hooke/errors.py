"""The errors of the engine: each says what happened, where, and what to do.

HookeError
├── SpecError          an experiment or run specification is invalid; carries one Fault per fault
├── NotFound           a name that no catalogue, folder or file answers to
├── DataMissing        a workload's files are absent; says what to put where
├── DataInvalid        a workload's file is damaged, or not in its format
├── CommError          an exchange between ranks failed
│   └── Deadlock       every rank of a virtual world waits for another
├── NumericalError     NaN or Inf in a vector that would have reached the center; names rank and step
├── CheckpointError    a checkpoint is incomplete or belongs to another run
├── JournalError       a journal holds a line that no version of the format explains
└── LaunchError        mpirun, a guard or a supervisor could not be started
"""

from __future__ import annotations

from dataclasses import dataclass


class HookeError(Exception):
    """Root of every error that the engine raises on purpose."""


@dataclass(frozen=True)
class Fault:
    """One fault of a document: `pointer` is an RFC 6901 JSON Pointer into it as sent (or `query/name`)."""

    pointer: str
    message: str


class SpecError(HookeError):
    """An experiment or run specification is invalid."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{p.pointer or '/'}: {p.message}" for p in faults))


class NotFound(HookeError):
    """A name that no catalogue, folder or file answers to."""


class DataMissing(HookeError):
    """The files of a workload are absent."""


class DataInvalid(HookeError):
    """A file of a workload is damaged, or not in its format."""


class CommError(HookeError):
    """An exchange between ranks failed."""


class Deadlock(CommError):
    """Every rank of a virtual world waits for another one; the message lists who waits for whom."""


class AlgorithmError(HookeError):
    """A method does not keep what it says: ranks evaluate different weights."""


class NumericalError(HookeError):
    """A NaN or Inf was about to reach the center."""


class CheckpointError(HookeError):
    """A checkpoint is incomplete, damaged, or was written by another run."""


class JournalError(HookeError):
    """A journal line cannot be explained by the format."""


class LaunchError(HookeError):
    """A process of an attempt could not be started."""
