"""The parts of docs/algorithms.md on parameters: the settings of the step, and what tuning searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hooke.catalogue.algorithm import Algorithm
from hooke.spec.spaces import Space

GROUP = "Settings of the step"
READINGS = """\
- **Progress.** A worker's progress is its own step t (from 0) over its equal share of the budget, T = ceil(steps
  of the budget / P). t is part of checkpoints. In methods with a server and without locks, a worker that takes
  more than T steps keeps the rate at the end, and one that takes fewer does not reach it; the number of steps of
  a worker, not the schedule, depends on the order of exchanges. A restart with another budget has another T.
- **Schedule.** It multiplies `lr`, and nothing else. With W = round(warmup T) the factor is (t + 1) / (W + 1)
  before step W; from there, `cosine` falls to `final_share` at T, and `step` multiplies by `milestone_factor` at
  each milestone. The moving rate a = lr rho, its bound and its warning use `lr` itself, the largest rate.
- **Velocity.** v' = mu v - lr_t g holds every gradient with the rate of its step. torch.optim.SGD multiplies its
  velocity by the current rate instead; the two differ while the rate changes.
- **Clipping.** The gradient that is applied is clipped: in Sync SGD, weighted or not, Pipe-SGD and PowerSGD,
  inside a chip and before the switches of post-local SGD and 1-bit Adam the mean (or sum) over workers; elsewhere
  each worker's own. Weight decay is added afterwards.
- **Weight decay.** With SGD, w x is part of the gradient, at the point of the gradient (torch.optim.SGD); with
  AdamW and Muon it shrinks the weights that the step finds, in elastic methods after the pull
  (torch.optim.AdamW). So it does in DeMo and 1-bit Adam.
- **Servers.** Where a server applies gradients (Async SGD and its presets), clipping, weight decay and schedule
  are applied by the worker, before it pushes. Another optimizer than SGD needs `momentum_at = worker`.
- **Muon** (Jordan et al. 2024) steps along the momentum of a matrix, orthogonalized by five Newton-Schulz
  iterations (in bfloat16 on GPUs, as published, else in float32), times 0.2 sqrt(max(n, m)) (Liu et al. 2025), so
  that one `lr` serves it and AdamW, which steps all other weights. Matrices are weights with two or more
  dimensions (rows: the first one) that are neither embeddings nor the last matrix of the model, which is taken
  for the output layer. Momentum is that of the method; with `nesterov` as in torch.optim.Muon, at x. The journal
  contains their number.
- **Accumulation.** A step averages k gradients at the same weights: the sum in the order of the batches, times 1
  / k. It counts k batches of samples, takes the time of k gradients, and has the bits of this sum, not those of
  one gradient of a k times larger batch."""
"""How the settings of the step act in all methods."""


def shared(catalogue: Mapping[str, type[Algorithm]]) -> list[str]:
    """Return the table of the settings that methods share, with their readings; nothing if there are none."""
    found: dict[str, list[type[Algorithm]]] = {}
    for kind in catalogue.values():
        for name, field in kind.model_fields.items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and extra.get("group") == GROUP:
                found.setdefault(name, []).append(kind)
    if not found:
        return []
    lines = [f"## {GROUP}", "", "| parameter | default | meaning | searched by tuning |"]
    lines += ["|---|---|---|---|", *(_row(name, kinds) for name, kinds in found.items())]
    return [*lines, "", READINGS, ""]


def _row(name: str, kinds: list[type[Algorithm]]) -> str:
    default, _ = Counter(_default(kind, name) for kind in kinds).most_common(1)[0]
    others = [f"`{kind.id()}`: {_default(kind, name)}" for kind in kinds if _default(kind, name) != default]
    field, space = kinds[0].model_fields[name], kinds[0].spaces().get(name)
    told = "; ".join([default, *others])
    return f"| `{name}` | {told} | {field.description} | {words(space) if space else 'no'} |"


def _default(kind: type[Algorithm], name: str) -> str:
    value = kind.model_fields[name].default
    return "empty" if value is None else ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def searched(kind: type[Algorithm]) -> list[str]:
    """Return the line with the spaces of a method, without those of the settings of the step."""
    spaces = {name: space for name, space in kind.spaces().items() if not _of_step(kind, name)}
    if not spaces:
        return []
    told = [f"`{name}` {words(space)}" for name, space in spaces.items()]
    return [f"**Searched by tuning:** {'; '.join(told)}.", ""]


def _of_step(kind: type[Algorithm], name: str) -> bool:
    extra = kind.model_fields[name].json_schema_extra
    return isinstance(extra, dict) and extra.get("group") == GROUP


def words(space: Space) -> str:
    """Return a space in words: its choices, or its ends and scale; and its conditions."""
    if space.choices is not None:
        values = " or ".join(map(_word, space.choices))
    else:
        values = f"{_number(space.low)} to {_number(space.high)}"
        values += "" if space.scale == "linear" else f" ({space.scale})"
    conditions = [f"{name} is {' or '.join(map(_word, allowed))}" for name, allowed in space.when.items()]
    conditions += [f"{name} is not {' or '.join(map(_word, barred))}" for name, barred in space.unless.items()]
    return values + (f", if {' and '.join(conditions)}" if conditions else "")


def _word(value: Any) -> str:
    if isinstance(value, float):
        return _number(value)
    return "empty" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: float | None) -> str:
    return f"{value:g}"
