"""The virtual time of a gradient: a mean, with jitter of which a part stays the same for several steps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hooke.catalogue.algorithm import Algorithm
from hooke.comm.base import Vector
from hooke.comm.touched import Touched
from hooke.spec.specification import RunSpec

_BETWEEN, _SLOW, _COMMON, _STRAGGLING = 2, 3, 4, 5
"""Streams of random numbers beside the independent one, which is 1."""
_ALL_RANKS = 2**31
"""In place of a rank, where all draw the same."""


class ComputeTime:
    """Draws the seconds of one rank's gradients: jitter, whose factors have the mean 1, over the worker's speed.

    ============  ==================================================================================
    part          drawn
    ============  ==================================================================================
    independent   for every gradient, from a generator whose state is in checkpoints
    slow          for every `jitter_steps` gradients of a rank
    common        for every `jitter_steps` gradients, the same on all ranks
    between       once per rank
    ============  ==================================================================================

    The last three are functions of seed, rank and number of the gradient, so a restart draws them again; whether
    a gradient straggles, likewise. The speed is that at the beginning of a gradient. Of a worker whose threads
    share its weights, every sub-batch draws for itself; the parts that last count its gradients, as of all others.
    """

    def __init__(self, spec: RunSpec, rank: int) -> None:
        self.spec = spec
        self.rank = rank
        self.drawn = 0
        """Draws so far: gradients, or sub-batches of them; part of a checkpoint."""
        self.begun = 0
        """Gradients so far; part of a checkpoint."""
        self.sent = 0
        """Bytes that the rank had sent when its latest gradient began."""
        self.random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([spec.seed, rank, 1])))
        self._block: int | None = None
        self._factor = 1.0
        self._device = None if spec.virtual is None or rank >= spec.workers else spec.virtual.profile(rank)

    def seconds(
        self,
        now: float = 0.0,
        sent: int = 0,
        joined: bool = False,
        samples: int | None = None,
        further: bool = False,
    ) -> float:
        """Return the virtual seconds of the next gradient, which begins at `now`; only in a virtual world.

        `sent`: bytes that the rank has sent so far; if they are more than before, it has exchanged something.
        `joined`: it is part of the same batch as the one before, so that what a step takes in addition to its
        samples is not taken again. `samples`: of a sub-batch; None: a whole batch. `further`: it is another
        sub-batch of the same gradient.
        """
        network = self.spec.virtual
        assert network is not None  # noqa: S101 - the caller asked
        sigma = network.compute_jitter
        factor = float(self.random.lognormal(-sigma * sigma / 2, sigma)) if sigma else 1.0
        count = self.spec.batch if samples is None else samples
        mean = count * network.compute_seconds_per_sample
        more = network.compute_seconds_per_step
        if sent != self.sent:
            self.sent = sent
            more += network.compute_seconds_after_exchange
        if self._device is not None:
            mean, more = mean / self._device.speed, more + self._device.overhead
        mean += 0.0 if joined else more
        self.begun += not further
        block = (self.begun - 1) // network.jitter_steps
        chance, longer = network.stragglers(self.rank)
        if self.straggles(chance):
            mean *= longer
        if block != self._block:
            self._block, self._factor = block, self._kept(block)
        if network.speeds or network.speed_changes or network.devices:
            mean /= network.speed(self.rank, now)
        return mean * factor * self._factor

    def straggles(self, chance: float) -> bool:
        """Draw whether the next gradient straggles, and count it."""
        self.drawn += 1
        if not chance:
            return False
        words = np.random.SeedSequence([self.spec.seed, self.rank, _STRAGGLING, self.drawn - 1])
        return bool(np.random.Generator(np.random.PCG64(words)).random() < chance)

    def state(self, sent: int) -> dict[str, Any]:
        """Return what a checkpoint keeps; `sent`: bytes that the rank has sent so far."""
        exchanged = sent != self.sent
        return {
            "jitter": self.random.bit_generator.state,
            "gradients": self.drawn,
            "begun": self.begun,
            "exchanged": exchanged,
        }

    def restore(self, state: dict[str, Any], sent: int) -> None:
        """Continue from `state`; checkpoints of earlier versions count neither gradients nor exchanges.

        `sent`: bytes that the rank has sent since it was started.
        """
        self.random.bit_generator.state = state["jitter"]
        self.drawn = int(state.get("gradients", 0))
        self.begun = int(state.get("begun", self.drawn))
        self.sent = sent - int(state.get("exchanged", False))
        self._block = None

    def _kept(self, block: int) -> float:
        """Return the product of the factors that last for several gradients."""
        network, seed = self.spec.virtual, self.spec.seed
        assert network is not None  # noqa: S101 - the caller asked
        return (
            _factor(network.jitter_between_ranks, seed, self.rank, _BETWEEN)
            * _factor(network.jitter_slow, seed, self.rank, _SLOW, block)
            * _factor(network.jitter_common, seed, _ALL_RANKS, _COMMON, block)
        )


def _factor(sigma: float, *words: int) -> float:
    if sigma == 0:
        return 1.0
    drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words))).standard_normal()
    return float(np.exp(sigma * drawn - sigma * sigma / 2))


class Priced(Protocol):
    """What `update_bytes` reads of a rank."""

    elements: int | None
    params: Vector

    @property
    def algorithm(self) -> Algorithm: ...  # noqa: D102
    @property
    def is_server(self) -> bool: ...  # noqa: D102
    @property
    def rows(self) -> Touched | None: ...  # noqa: D102


def update_bytes(r: Priced) -> float:
    """Return the bytes that the vector arithmetic of a step reads and writes, or of a request on a server.

    Of a step along some rows, which told how many elements they have, these count. So do the rows of a request
    that is about some. What an exchange does with vectors counts as whole vectors.
    """
    stepped, r.elements = r.elements, None
    accesses, whole = r.algorithm.vector_accesses(r.is_server), r.params.numel()
    asked = r.rows if r.is_server and r.algorithm.coordination == "parameter-server" else None
    if asked is not None:
        return 4 * accesses * len(asked)
    part = 0.0 if stepped is None else min(accesses, r.algorithm.step_accesses())
    return 4 * ((accesses - part) * whole + part * (stepped or 0))
