"""Methods whose workers push gradients, or their own updates, to a server that applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from hooke.comm.touched import Rows, Touched
from hooke.methods.descent import Periodic
from hooke.methods.moved import Account, only_moved
from hooke.methods.steps import LocalStep, Step
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank


class Pushed(Periodic):
    """A method whose server applies what workers push: lr times their gradients, or their updates."""

    search = {
        "weight_decay": Space(
            low=0.001, high=0.3, scale="log", when={"optimizer": ["adamw", "muon"], "momentum_at": ["worker"]}
        )
    }

    momentum_at: Literal["master", "worker"] = Field(
        "master",
        title="Momentum at",
        description="One velocity at the server (master), or each worker's own.",
        validate_default=True,
    )

    @field_validator("momentum_at")
    @classmethod
    def _where_the_optimizer_is(cls, value: str, info: ValidationInfo) -> str:
        chosen = info.data.get("optimizer", "sgd")
        if value == "master" and chosen != "sgd":
            raise ValueError(
                f"with `master` the server steps along the pushed gradients by SGD: {chosen} is an optimizer of "
                "workers, so choose `worker`, whose updates are then pushed, or the optimizer sgd"
            )
        return value

    def moves(self) -> bool:
        """Return whether workers push their own updates instead of gradients."""
        return self.momentum_at == "worker" and (self.momentum > 0 or self.optimizer != "sgd")

    def local_step(self, r: Rank) -> Step:
        """Return the step of this rank: only the side that has the velocity has momentum."""
        if r.is_server:
            momentum = 0.0 if self.moves() else self.momentum
            return LocalStep(r, self.lr, momentum, nesterov=self.momentum_kind == "nesterov")
        if self.moves() or not self.momentum:
            return super().local_step(r)
        return self.model_copy(update={"momentum": 0.0}).local_step(r)

    def sends_rows(self, r: Rank) -> bool:
        """Return whether only touched rows travel: not with a velocity of the server, which moves all rows."""
        return only_moved(r) and (self.moves() or not self.momentum)

    def vector_accesses(self, server: bool) -> float:
        """Return the vector reads and writes, including those of the velocity on the side that has it."""
        velocity = self.velocity_accesses() if server == (self.momentum_at == "master") else 0
        if server:
            return self.server_accesses + velocity
        worker = 3 + 3 * (self.period > 1) + 1 / self.period  # it moves itself only between exchanges
        return worker + velocity + self.optimizer_accesses() + self.setting_accesses()


class Pulls:
    """Server: for each worker the rows of the center that have changed since its latest pull, also by itself.

    Before the first pull, and after a restart, all have: a worker then gets the whole center.
    """

    def __init__(self, r: Rank) -> None:
        weights: Any = r.params
        counts = [Rows(part, None).count for part in r.layout]
        self._all = Touched(tuple(Rows(part, None) for part in r.layout))
        self._of = [Account(r.layout, [weights.new_zeros(count) for count in counts]) for _ in range(r.workers)]

    def note(self, rows: Touched | None) -> None:
        """Note rows of the center that have changed; None: all may have."""
        for each in self._of:
            each.note(rows)

    def take(self, worker: int) -> Touched:
        """Return the rows that a worker has to be told now."""
        rows = self._of[worker].take()
        return self._all if rows is None else rows
