"""Tables as Apache Parquet, sent while they are read. Needs pyarrow: the extra `parquet` of this distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from hooke_api.base.errors import Conflict

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 65_536
"""Rows of a row group, about; what is held in memory at a time."""


class ParquetAnswer(StreamingResponse):
    """A table in parts."""

    media_type = "application/vnd.apache.parquet"


def parquet_answer(parts: Iterator[bytes], name: str) -> ParquetAnswer:
    """Return a table as it is read; browsers save it under its name, which is ASCII."""
    return ParquetAnswer(parts, headers={"content-disposition": f'attachment; filename="{name}"'})


def arrow() -> Any:
    """Return the module pyarrow. Raises Conflict with what to install."""
    try:
        import pyarrow
    except ImportError:
        raise Conflict(
            "this server writes no Parquet, because pyarrow is not installed there: pip install -e 'api[parquet]' "
            "in the clone of Hooke; CSV needs nothing"
        ) from None
    return pyarrow


class _Sink:
    """A file to which pyarrow writes, and from which the response takes."""

    closed = False

    def __init__(self) -> None:
        self._held = bytearray()
        self._written = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        part = bytes(data)
        self._held += part
        self._written += len(part)
        return len(part)

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._written

    def flush(self) -> None:
        """Do nothing: what is written is there."""

    def close(self) -> None:
        """Do nothing: the response takes what is left."""

    def readable(self) -> bool:
        """Return that nothing can be read."""
        return False

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def seekable(self) -> bool:
        """Return that what was written has left."""
        return False

    def take(self) -> bytes:
        """Return what was written since the last call."""
        taken = bytes(self._held)
        self._held.clear()
        return taken


def parquet_of(schema: pa.Schema, tables: Iterator[Mapping[str, Sequence[Any]]]) -> Iterator[bytes]:
    """Yield a file with the rows of these tables: column -> values. Compressed by zstd."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        held: list[Any] = []
        rows = 0
        for table in tables:
            made = pa.table(dict(table), schema=schema)
            held.append(made)
            rows += made.num_rows
            if rows >= GROUP:
                writer.write_table(pa.concat_tables(held))
                held, rows = [], 0
                yield sink.take()
        if held:
            writer.write_table(pa.concat_tables(held))
    yield sink.take()
