"""The errors of the engine: each says what happened, where, and what to do.

HookeError
├── SpecError          an experiment or run specification is invalid; has one Fault per fault
├── ArgumentError      an argument of a function of the package `hooke` is wrong; names it
├── NotFound           a name that is in no catalogue, folder or file
├── DataMissing        a workload's files are missing; says which files to put where
├── DataInvalid        a workload's file is damaged, or not in its format
├── CommError          an exchange between ranks failed
│   ├── RankLost       the process of a rank that is waited for has ended
│   └── Deadlock       every rank of a virtual world waits for another
├── NumericalError     NaN or Inf in a vector, detected before it reaches the center; names rank and step
├── CheckpointError    a checkpoint is incomplete, damaged, or belongs to another run
├── JournalError       a journal contains a line that is not in its format
└── LaunchError        mpirun, a guard or a supervisor could not be started
"""

from __future__ import annotations

from dataclasses import dataclass


class HookeError(Exception):
    """Base class of all errors that the engine raises deliberately."""


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


class ArgumentError(HookeError, ValueError):
    """An argument of a function of the package `hooke` is wrong, or something that it needs is not installed."""


class ServerAway(ArgumentError):
    """A server gives no answer, or says that it cannot answer now; the same request may succeed later."""


class NotFound(HookeError):
    """A name that is in no catalogue, folder or file."""


class DataMissing(HookeError):
    """The files of a workload are missing."""


class DataInvalid(HookeError):
    """A file of a workload is damaged, or not in its format."""


class CommError(HookeError):
    """An exchange between ranks failed."""


class RankLost(CommError):
    """The process of a rank that is waited for has ended; `rank`: which."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"the process of rank {rank} has ended")
        self.rank = rank


class Deadlock(CommError):
    """Every rank of a virtual world waits for another; the message lists what each waits for."""


class AlgorithmError(HookeError):
    """A method does not keep what it says: ranks evaluate different weights."""


class NumericalError(HookeError):
    """NaN or Inf in a vector, detected before it reaches the center."""


class CheckpointError(HookeError):
    """A checkpoint is incomplete, damaged, or was written by another run."""


class JournalError(HookeError):
    """A journal contains a line that is not in its format."""


class LaunchError(HookeError):
    """A process of an attempt could not be started."""


class CalibrationError(HookeError):
    """A calibration could not be made, read or used."""
