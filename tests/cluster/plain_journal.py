"""A journal written by the description of its format alone: JSON Lines, steps in columns of base64.

Ranks of these tests are started by the hundred, and start faster without Pydantic and NumPy. What the
product's own writer writes is compared with its readers in `tests/engine/journal`.
"""

import base64
import json
import struct
import time

from hooke.trace.phases import PHASES

COLUMNS = {
    **{"step": "q", "samples": "q", "clock": "d", "wall": "d", "loss": "f"},
    **dict.fromkeys(map(str, PHASES), "f"),
    **{"hidden": "f", "payload": "q", "wire": "q", "messages": "i"},
}
"""Name -> little-endian type, as `struct` calls it."""
BLOCK_SECONDS, BLOCK_STEPS = 0.25, 512


class PlainJournal:
    """Writes the journal of one rank."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._seq = 0
        self._rows = []
        self._flushed = time.monotonic()

    def step(self, row):
        """Add a step: values in the order of COLUMNS."""
        self._rows.append(row)
        if len(self._rows) >= BLOCK_STEPS or time.monotonic() - self._flushed >= BLOCK_SECONDS:
            self.flush()

    def flush(self):
        if self._rows:
            columns = {}
            for (name, code), values in zip(COLUMNS.items(), zip(*self._rows, strict=True), strict=True):
                columns[name] = base64.b64encode(struct.pack(f"<{len(values)}{code}", *values)).decode()
            n, self._rows = len(self._rows), []
            self._write("steps", n=n, columns=columns)
        self._flushed = time.monotonic()

    def record(self, kind, **fields):
        """Write what came before, and this."""
        self.flush()
        self._write(kind, **fields)

    def _write(self, kind, **fields):
        text = json.dumps({"kind": kind, "seq": self._seq, **fields}, separators=(",", ":"))
        line = memoryview(text.encode() + b"\n")
        self._seq += 1
        while line:  # a write may be short
            line = line[self._file.write(line) :]

    def close(self):
        self.flush()
        self._file.close()
