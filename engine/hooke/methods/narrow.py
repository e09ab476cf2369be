"""How a step reads and writes rows of a rank's weights: in place, or in float32 copies that are rounded at random.

Weights in bfloat16 have 8 bits of precision: a step of less than 1/512 of a weight would be lost if the result
were rounded to the nearest value. Rounded at random (Gupta et al., ICML 2015), its expectation is the exact one.
The random bits are a function of seed, slice, row, column and step: equal on all ranks that take equal steps,
whatever the number of threads. What bfloat16 has is kept, so that rows without a step stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.comm.touched import Rows, Touched, nonzero

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector


class Weights:
    """The weights of a rank, row by row."""

    def __init__(self, r: Rank) -> None:
        from hooke.comm.elements import is_bf16  # not at the top: parameters of algorithms are read without NumPy

        self._r = r
        self.narrow = is_bf16(r.params)
        """Whether they are bfloat16."""

    def touched(self, g: Vector) -> Touched | None:
        """Return the rows of a gradient; None: not known, or all. Of narrow weights they are looked for."""
        found = self._r.touched(g)
        return nonzero(self._r.layout, g) if found is None and self.narrow else found

    def of(self, rows: Rows) -> Any:
        """Return these rows: a copy in float32, or of all rows in float32 a view."""
        values = rows.of(self._r.params)
        return values.float() if self.narrow else values

    def put(self, place: int, rows: Rows, values: Any) -> None:
        """Write float32 values, as `of` returns them, to these rows of slice `place`."""
        if not self.narrow:
            rows.put(self._r.params, values)
            return
        import numpy as np

        from hooke.comm.elements import bits
        from hooke.hashing.half_weights import put_rows

        ids = np.arange(rows.count) if rows.ids is None else rows.ids.numpy()
        matrix = bits(rows.matrix(self._r.params))
        put_rows(matrix, ids.astype(np.int32), values.numpy(), (self._r.spec.seed, place, self._r.t))

    def add(self, touched: Touched, g: Vector, rate: float) -> None:
        """Add rate g to these rows, of which alone g differs from zero: the bits of `x.add_(g, alpha=rate)`."""
        if not self.narrow:
            touched.add(self._r.params, g, rate)
            return
        for place, rows in enumerate(touched):
            self.put(place, rows, self.of(rows).add_(rows.of(g), alpha=rate))
