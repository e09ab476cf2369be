"""PyTorch's normal draws on the CPU, from their definition, for the initial basis of PowerSGD.

`torch.randn(n, generator=torch.Generator().manual_seed(seed))` for n >= 16, float32: a Mersenne Twister (Matsumoto
and Nishimura 1998), its lowest 24 bits as a uniform number, and the Box-Muller transformation of pairs at a
distance of eight.
"""

from __future__ import annotations

import numpy as np

from audit.problem import Array


def normal(count: int, seed: int) -> Array:
    """Return `count` >= 16 draws, up to rounding in float32."""
    if count < 16:
        raise ValueError(f"PyTorch draws fewer than 16 numbers in another way; {count} were asked for")
    twister = np.random.RandomState(seed)

    def uniform(n: int) -> Array:
        return (twister.randint(0, 2**32, n, dtype=np.uint32) & 0xFFFFFF) / float(1 << 24)

    values = uniform(count)
    for at in range(0, count - 15, 16):
        values[at : at + 16] = _box_muller(values[at : at + 16])
    if count % 16:
        values[-16:] = _box_muller(uniform(16))
    return values


def _box_muller(u: Array) -> Array:
    radius, angle = np.sqrt(-2 * np.log(1 - u[:8])), 2 * np.pi * u[8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
