"""What wire types keep on ranks for error feedback, in vectors as long as the weights (`hooke.comm.wrappers`).

A rounded wire (bf16, fp16) keeps a residual for every vector that a rank sends, one for each receiver of messages.
A compressed one (int8, sign, top-k) keeps a residual of updates; of weights it keeps what their receivers know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hooke.spec.communication import Communication

ROUNDED = ("bf16", "fp16")


class Kept(NamedTuple):
    """Vectors that a worker keeps on a rounded wire, and on a compressed one; a server's are for each worker."""

    rounded: int
    compressed: int
    server: int = 1
    """Of a server for each worker, on a compressed wire; on a rounded one 1."""


NOTHING, UPDATES, WEIGHTS = Kept(0, 0, 0), Kept(1, 1), Kept(1, 2, 2)
KEPT: Mapping[str, Kept] = {
    **dict.fromkeys(("demo", "hogwild-easgd", "hogwild-sgd", "powersgd", "sgd", "sparseloco", "sparta"), NOTHING),
    **dict.fromkeys(("co2", "diloco", "elastic-slowmo", "onebit-adam", "pipe-sgd", "slowmo"), UPDATES),
    **dict.fromkeys(("streaming-diloco", "sync-sgd", "weighted-sync-sgd"), UPDATES),
    **dict.fromkeys(("async-msgd", "async-sgd", "downpour", "hogbatch", "mdownpour"), Kept(1, 2, 1)),
    "chip-easgd": Kept(3, 4),
    "noloco": Kept(2, 3),
    "post-local-sgd": Kept(2, 3),
    "stochastic-gradient-push": Kept(1, 2),
}
"""Method -> what its ranks keep, as a test counts it; WEIGHTS of all others. NoLoCo for each other worker,
Stochastic Gradient Push for each worker that it sends to; of Chip EASGD the worker that has most."""
ONE = ("sync-easgd1",)
"""Methods whose server sends all workers the same."""
OF_DELAY = ("delayed-gradient-averaging",)
"""Methods that keep a residual for the steps of each delay, and one."""


def kept(name: str, chosen: Communication, workers: int, delay: int = 0) -> tuple[int, int]:
    """Return the vectors that a worker of a run keeps, and its server. One worker alone sends nothing.

    Without error feedback a rounded wire keeps nothing, a compressed one at most as much as with it. The root of
    the broadcast of the first weights keeps one more, which is not counted.
    """
    if chosen.wire == "fp32" or (chosen.wire in ROUNDED and not chosen.error_feedback):
        return 0, 0
    own, rounds = KEPT.get(name, WEIGHTS), chosen.wire in ROUNDED
    if name in OF_DELAY:
        own = Kept(delay + 1, delay + 1)
    times = {"noloco": workers - 1, "stochastic-gradient-push": (workers - 1).bit_length()}.get(name, 1)
    server = min(1, own.server) if rounds else own.server
    return (own.rounded if rounds else own.compressed) * times, server * (1 if name in ONE else workers)
