"""Parts of tables of rows (`hooke_api.metrics.table`), and tables that follow on each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hooke_api.metrics.table import NOTHING, Table


def part(table: Table, begin: int, end: int) -> Table:
    """Return some consecutive rows of a table, without copying."""
    of = slice(*np.searchsorted(table.staleness_at, (begin, end)))
    of_staleness = {"staleness_at": table.staleness_at[of] - begin, "staleness": table.staleness[of]}
    return Table(**{name: column[begin:end] for name, column in vars(table).items()} | of_staleness)


def joined_rows(tables: Sequence[Table]) -> Table:
    """Return the rows of tables, one behind the other, as copies: a view would keep the whole of what it is of."""
    begins = np.cumsum([0, *(len(table) for table in tables)])
    columns = {name: np.concatenate([vars(table)[name] for table in tables]) for name in vars(NOTHING)}
    at = [table.staleness_at + begin for table, begin in zip(tables, begins[:-1], strict=True)]
    return Table(**columns | {"staleness_at": np.concatenate(at)})
