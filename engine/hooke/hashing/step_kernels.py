"""One step of an optimizer on rows of a layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hooke.hashing.family import Ints
from hooke.hashing.jit import compiled

Real = NDArray[np.floating[Any]]

SGD, ADAGRAD, ROW_ADAM, LAZY_ADAM = 0, 1, 2, 3

RATE, BETA1, REST1, BETA2, REST2, EPSILON = 0, 1, 2, 3, 4, 5
"""Places in `hyper`; REST1 = 1 - BETA1 and REST2 = 1 - BETA2, without the rounding of float32."""


AT_ONCE = 16
"""Rows of a call, which itself costs about 60 ns, probably to count references to its arrays."""


@compiled(reassociate=True, helper=True)
def step_rows(
    rows: Ints, begin: int, count: int, gradients: Real, bias_gradients: Real, weight: Real, bias: Real,
    first_moment: Real, second_moment: Real, bias_moments: Real, kind: int, hyper: Real,
) -> None:  # fmt: skip
    """Give rows[begin + j] and its bias a step along gradients[j] by optimizer `kind`, for j below `count`.

    Arrays without rows are not used.

    With g the gradient of the row and n the number of the row's own steps, this one included:

    - SGD: w -= rate g.
    - ADAGRAD, one sum per row: s += mean(g^2); w -= rate g / (sqrt(s) + eps).
    - ROW_ADAM, one second moment per row: v = beta2 v + (1 - beta2) mean(g^2), corrected by 1 - beta2^n;
      m = beta1 m + (1 - beta1) g, corrected by 1 - beta1^n, or g itself if there are no first moments;
      w -= rate m / (sqrt(v) + eps). second_moment[row] = v and the two corrections.
    - LAZY_ADAM, as torch.optim.SparseAdam: moments per element; RATE has the corrections of the global step.
    """
    width = weight.shape[1]
    biased = bias.shape[0] > 0
    epsilon = hyper[EPSILON]
    for j in range(count):
        row, rate = rows[begin + j], hyper[RATE]
        if kind == SGD:
            for k in range(width):
                weight[row, k] -= rate * gradients[j, k]
            if biased:
                bias[row] -= rate * bias_gradients[j]
        elif kind == LAZY_ADAM:
            for k in range(width):
                g = gradients[j, k]
                m = hyper[BETA1] * first_moment[row, k] + hyper[REST1] * g
                v = hyper[BETA2] * second_moment[row, k] + hyper[REST2] * (g * g)
                first_moment[row, k] = m
                second_moment[row, k] = v
                weight[row, k] -= rate * m / (np.sqrt(v) + epsilon)
            if biased:
                m = hyper[BETA1] * bias_moments[row, 0] + hyper[REST1] * bias_gradients[j]
                v = hyper[BETA2] * bias_moments[row, 1] + hyper[REST2] * (bias_gradients[j] * bias_gradients[j])
                bias_moments[row, 0] = m
                bias_moments[row, 1] = v
                bias[row] -= rate * m / (np.sqrt(v) + epsilon)
        else:
            square = weight.dtype.type(0)
            for k in range(width):
                square += gradients[j, k] * gradients[j, k]
            square = weight.dtype.type(square / width)
            if kind == ADAGRAD:
                second_moment[row, 0] += square
                rate /= np.sqrt(second_moment[row, 0]) + epsilon
            else:
                second_moment[row, 0] = hyper[BETA2] * second_moment[row, 0] + hyper[REST2] * square
                second_moment[row, 1] = hyper[BETA2] * second_moment[row, 1] + hyper[REST2]
                rate /= np.sqrt(second_moment[row, 0] / second_moment[row, 1]) + epsilon
            if kind == ROW_ADAM and first_moment.shape[0] > 0:
                second_moment[row, 2] = hyper[BETA1] * second_moment[row, 2] + hyper[REST1]
                rate /= second_moment[row, 2]
                for k in range(width):
                    m = hyper[BETA1] * first_moment[row, k] + hyper[REST1] * gradients[j, k]
                    first_moment[row, k] = m
                    weight[row, k] -= rate * m
                if biased:
                    bias_moments[row, 0] = hyper[BETA1] * bias_moments[row, 0] + hyper[REST1] * bias_gradients[j]
                    bias[row] -= rate * bias_moments[row, 0]
            else:
                for k in range(width):
                    weight[row, k] -= rate * gradients[j, k]
                if biased:
                    bias[row] -= rate * bias_gradients[j]
