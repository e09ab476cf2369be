"""Optional constants of a virtual cluster: what a calibration measures beyond latency and bandwidth.

With the defaults they cost nothing, so a specification without them keeps its fingerprint and its virtual seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from hooke.spec.frozen import Frozen

Operation = Literal["tree", "halving", "ring", "gather", "window", "background", "behind"]
"""Operations with constants of their own: all-reduces by their schedule, all-gathers, one-sided operations.

`background`: what a message of an all-reduce or all-gather in the background takes from the rank's computation.
`behind`: what it takes longer than a message of one that is waited for at once."""


def _absent(value: Any) -> bool:
    return not value


class OperationCost(Frozen):
    """The time of one message of an operation: it includes overheads, additions and copies."""

    seconds_per_message: float = Field(ge=0, le=10, title="Seconds per message")
    seconds_per_byte: float = Field(ge=0, le=1, title="Seconds per byte")


class MeasuredConstants(Frozen):
    """Constants that a calibration determines; each is 0 or empty unless it is given."""

    like: Annotated[str, StringConstraints(min_length=1, max_length=240)] | None = Field(
        None,
        exclude_if=_absent,
        title="Like",
        description="Name of a cluster whose latest calibration gives the constants that are not given here; for "
        "`hooke run`, the file of a calibration.",
    )
    source: Annotated[str, StringConstraints(max_length=240)] | None = Field(
        None, exclude_if=_absent, title="Source", description="The calibration that gave the constants."
    )
    compute_seconds_per_step: float = Field(
        0,
        ge=0,
        le=100,
        exclude_if=_absent,
        title="Compute time per step",
        description="Seconds per gradient that do not depend on the batch, the step's own overhead included.",
    )
    compute_seconds_after_exchange: float = Field(
        0,
        ge=0,
        le=100,
        exclude_if=_absent,
        title="Compute time after an exchange",
        description="Seconds by which a gradient takes longer that follows an exchange of its rank, whose vectors "
        "are no longer in its caches.",
    )
    update_seconds_per_byte: float = Field(
        0,
        ge=0,
        le=1,
        exclude_if=_absent,
        title="Updates",
        description="Seconds per byte of a vector access of an update, instead of the memory bandwidth.",
    )
    message_overhead: float = Field(
        0,
        ge=0,
        le=10,
        exclude_if=_absent,
        title="Message overhead",
        description="Processor seconds per message on each of its two ends.",
    )
    copy_seconds_per_byte: float = Field(
        0,
        ge=0,
        le=1,
        exclude_if=_absent,
        title="Copies",
        description="Seconds per byte of a message for copies between the network and a vector.",
    )
    addition_seconds_per_byte: float = Field(
        0,
        ge=0,
        le=1,
        exclude_if=_absent,
        title="Additions",
        description="Seconds per received byte for adding it to a vector, in reduces and all-reduces.",
    )
    operations: dict[Operation, OperationCost] = Field(
        default_factory=dict,
        exclude_if=_absent,
        title="Operations",
        description="Time of the messages of an operation, instead of the constants of all messages; "
        "`background`: time that they take from the computation that hides them; `behind`: by how much they "
        "take longer in the background.",
    )
    jitter_between_ranks: float = Field(
        0,
        ge=0,
        le=2,
        exclude_if=_absent,
        title="Jitter between ranks",
        description="Sigma of a log-normal factor on a rank's compute that it keeps for the whole run.",
    )
    jitter_slow: float = Field(
        0,
        ge=0,
        le=2,
        exclude_if=_absent,
        title="Slow jitter",
        description="Sigma of a factor that a rank keeps for `jitter_steps` gradients.",
    )
    jitter_common: float = Field(
        0,
        ge=0,
        le=2,
        exclude_if=_absent,
        title="Common jitter",
        description="Sigma of a factor that all ranks have in common for `jitter_steps` gradients.",
    )
    jitter_steps: int = Field(
        16,
        ge=1,
        le=10**6,
        exclude_if=lambda value: value == 16,
        title="Steps of the slow jitter",
        description="Gradients for which slow and common jitter stay the same.",
    )
