"""The result of a calibration, `hooke.calibration/1`: measured points, fitted lines, hardware and versions."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from hooke.errors import CalibrationError
from hooke.spec.frozen import Frozen, Label
from hooke.spec.pointers import faults

Kind = Literal[
    "message", "stream", "all-reduce", "all-gather", "window get", "window add", "copy", "add", "background"
]
"""message: half a round trip. stream: one of many messages in one direction. window: one-sided operations. copy,
add: of vectors in a rank's own memory, all ranks at once. background: what an all-reduce behind a computation adds
to its time."""


ROUNDS = 3
"""Rounds of all measurements: their spread shows changes that are slower than one measurement."""


class Duration(Frozen):
    """A median duration in seconds with its standard error."""

    seconds: float = Field(ge=0)
    error: float = Field(ge=0)
    """Standard error, s: from the order statistics of the samples and the spread of the rounds, the larger one."""
    samples: int = Field(ge=1)


class Point(Duration):
    """The time of an operation on `bytes` bytes."""

    bytes: int = Field(ge=0)
    ranks: int = Field(2, ge=1)
    """Ranks that took part."""
    pair: tuple[int, int] | None = None
    """The two ranks of a message."""


class Line(Frozen):
    """Seconds = alpha x messages + beta x bytes: fitted by weighted least squares."""

    alpha: float = Field(ge=0)
    """Seconds per message."""
    alpha_error: float = Field(ge=0)
    beta: float = Field(ge=0)
    """Seconds per byte."""
    beta_error: float = Field(ge=0)
    misfit: float = Field(ge=0)
    """Median of |measured - fitted| / measured over the points."""


class Curve(Frozen):
    """The points of one operation and the line through them."""

    kind: Kind
    collective: Literal["tree", "halving", "ring", "library"] | None = None
    """Schedule of an all-reduce."""
    points: list[Point] = Field(min_length=1)
    line: Line | None = None
    """None: too few points, or an all-reduce of the library, whose messages are unknown."""

    @property
    def name(self) -> str:
        """Return what a table shows: `all-reduce, tree`."""
        return f"{self.kind}, {self.collective}" if self.collective else self.kind


class Jitter(Frozen):
    """Standard deviations of the logarithm of a gradient's time, by what they persist over."""

    independent: float = Field(ge=0)
    """From one gradient to the next."""
    slow: float = Field(ge=0)
    """Of a rank, kept for `steps` gradients."""
    common: float = Field(ge=0)
    """Of all ranks at once, kept for `steps` gradients."""
    between_ranks: float = Field(ge=0)
    """Of a rank, kept throughout."""
    steps: int = Field(ge=1)


class BatchTime(Duration):
    """The time of a gradient of a batch; all ranks compute at once."""

    batch: int = Field(ge=1)


ADAMW_ACCESSES = 26
"""Vector accesses of AdamW's step, as methods with it declare them for a step without exchange."""


class Exchanging(Frozen):
    """All-reduces by halving of all weights of a workload, among its gradients of `loop_batch` samples."""

    alone: Duration
    """A gradient, without all-reduces."""
    after: Duration
    """A gradient that follows an all-reduce."""
    last: Duration
    """An all-reduce after each gradient, on the rank that comes last: without the wait for others."""
    added: Duration
    """What an all-reduce after each gradient adds to a step."""
    late: Duration
    """What an all-reduce after `period` gradients adds to them."""
    behind: Duration
    """What an all-reduce in the background adds to the gradient which it runs behind."""
    hidden: Duration | None = None
    """What it adds to `hidden_period` gradients, which are longer than it; None: an earlier version's."""
    hidden_period: int = Field(4, ge=2)
    shifted: Duration | None = None
    """What a message of all weights from every rank to the next one adds to a step; None: an earlier version's."""
    accessed: Duration
    """What a read of a window on rank 0 and an addition to it add to a step, all ranks at once."""
    wait: float = Field(ge=0)
    """Seconds by which the longest of the ranks' gradients exceeds their mean."""
    period: int = Field(ge=2)


class ComputeRate(Frozen):
    """The time of a workload's gradients on every rank."""

    workload: Label
    parameters: dict[str, Any] = Field(default_factory=dict)
    precision: Literal["fp32", "bf16"]
    elements: int = Field(ge=1)
    """Number of weights."""
    points: list[BatchTime] = Field(min_length=1)
    line: Line
    """alpha: seconds per step; beta: seconds per sample."""
    alone: Duration
    """A gradient of `loop_batch` samples while the other ranks wait."""
    loop: Duration
    """A step of `loop_batch` samples in a run, without exchange: gradient, update and overhead of the loop."""
    loop_batch: int = Field(ge=1)
    accesses: float = Field(ge=0)
    """Vector accesses of the update of that step (`Algorithm.vector_accesses`)."""
    jitter: Jitter
    adamw: Duration | None = None
    """AdamW's step of all weights after a gradient (`hooke.calibration.updating`); None: an earlier version's."""
    exchanging: Exchanging | None = None
    """None: one rank, or a calibration of an earlier version."""

    @property
    def sharing(self) -> float:
        """Return how much longer a gradient takes while all ranks compute than alone."""
        together = next((p.seconds for p in self.points if p.batch == self.loop_batch), self.points[0].seconds)
        return together / self.alone.seconds if self.alone.seconds else 1.0


class Calibration(Frozen):
    """What ranks of a cluster measured."""

    schema_: Literal["hooke.calibration/1"] = Field("hooke.calibration/1", alias="schema")
    at: datetime
    """Begin, UTC."""
    took: float = Field(ge=0)
    """Seconds."""
    workers: int = Field(ge=1)
    hosts: int = Field(ge=1)
    cores: int = Field(ge=1)
    """Cores that the ranks on the first host may use."""
    load: float = Field(ge=0)
    """Processes that were running on the first host in the minute before: other load than the calibration's."""
    oversubscribed: bool = False
    """Whether ranks of a machine outnumbered its cores: operations and gradients are then those of steps in which
    they share them (`hooke.calibration.sharing`)."""
    hardware: dict[str, str | int | float]
    versions: dict[str, str]
    start: Duration
    """From the launcher's command until all ranks have imported their libraries and initialized MPI."""
    curves: list[Curve]
    compute: list[ComputeRate]

    def curve(self, kind: Kind, collective: str | None = None) -> Curve | None:
        """Return the curve of an operation, or None."""
        return next((c for c in self.curves if (c.kind, c.collective) == (kind, collective)), None)

    @property
    def shared(self) -> bool:
        """Return whether other processes ran on the machine, so that the figures are not to be trusted."""
        return self.load >= 0.5


def load(path: Path) -> Calibration:
    """Read a calibration. Raises CalibrationError if the file cannot be read or is not one."""
    try:
        return Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = faults(error, None)[0]
        raise CalibrationError(
            f"{path} is not a calibration ({first.pointer or '/'}: {first.message}): make one with "
            "`hooke calibrate --save FILE`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CalibrationError(f"{path} cannot be read: {error}") from None


def text(calibration: Calibration) -> str:
    """Return a calibration as JSON."""
    return calibration.model_dump_json(by_alias=True, indent=1) + "\n"
