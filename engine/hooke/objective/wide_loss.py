"""The loss of a network with a wide output layer: cross-entropy with equally likely labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hooke.objective.active_labels import ALL, Active
from hooke.objective.bags import Bags
from hooke.objective.device import moved

WIDENED_AT_ONCE = 1 << 14
"""Rows of weights in bfloat16 that are widened together."""


def places(batch: Bags, chosen: Active, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for every label of every item, its row and column among the outputs, and 1 / labels of the item.

    A label of an item occurs once, so that no place does twice.
    """
    counts = np.diff(batch.labels.starts)
    rows = np.repeat(np.arange(len(batch)), counts)
    columns = batch.labels.ids.astype(np.int64)
    if chosen.ids is not None:
        columns = np.searchsorted(chosen.ids.numpy(), columns)
    shares = np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32)
    return moved(rows, device), moved(columns, device), moved(shares, device)


def all_outputs(hidden: Tensor, weights: Tensor) -> Tensor:
    """Return hidden (b, d) times weights (C, d) transposed, (b, C), in float32.

    Weights in bfloat16 are widened some rows at a time, so that no float32 copy of all of them is made.
    """
    if weights.dtype == torch.float32:
        return torch.mm(hidden, weights.T).float()
    outputs = hidden.new_empty(len(hidden), len(weights))
    for begin in range(0, len(weights), WIDENED_AT_ONCE):
        part = slice(begin, begin + WIDENED_AT_ONCE)
        outputs[:, part] = torch.mm(hidden, weights[part].float().T)
    return outputs


def losses(outputs: Tensor, batch: Bags) -> Tensor:
    """Return the cross-entropy of every item, (b,): outputs (b, C) over all labels."""
    rows, columns, shares = places(batch, ALL, outputs.device)
    target = torch.zeros(len(batch), device=outputs.device)
    target.index_add_(0, rows, outputs[rows, columns].mul_(shares))
    return torch.logsumexp(outputs, 1).sub_(target)


def softmax(outputs: Tensor, batch: Bags, chosen: Active) -> Tensor:
    """Replace the outputs, (b, a), by the gradient of the mean loss of the batch; return the loss, float64 ().

    Nothing here waits for a device: read the loss when all work of the step has been given to it.
    """
    device = outputs.device
    rows, columns, shares = places(batch, chosen, device)
    own = outputs[rows, columns]
    if chosen.offset is not None:
        outputs.add_(chosen.offset.to(device, non_blocking=True))
    if chosen.own is not None:
        outputs.masked_fill_(chosen.own.to(device, non_blocking=True), -torch.inf)
    outputs[rows, columns] = own
    total = torch.logsumexp(outputs, 1)
    loss = (total.double().sum() - own.double().mul_(shares).sum()) / len(batch)
    outputs.sub_(total[:, None]).exp_()
    outputs[rows, columns] = outputs[rows, columns].sub_(shares)
    outputs.mul_(1 / len(batch))
    return loss


def hits(best: Any, batch: Bags) -> int:
    """Return how many items have the label `best`, (b,), among theirs."""
    owner = np.repeat(np.arange(len(batch)), np.diff(batch.labels.starts))
    return int((batch.labels.ids == best[owner]).sum())
