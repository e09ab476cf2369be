"""Streams files of sparse text, plain or gzip-compressed, in blocks of whole lines; names the place of faults."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import numpy as np

from hooke.errors import DataInvalid
from hooke.objective.bags import Bags, Csr, starts_of
from hooke.readers import sparse_lines, sparse_tokens
from hooke.readers.sparse_lines import EMPTY, NEGATIVE, OTHER, LineFault, Rules
from hooke.readers.sparse_tokens import Block

PIECE = 1 << 20
"""Bytes that are read at once; what is computed on a block of lines stays in the processor's caches."""
LONGEST_LINE = 1 << 24
"""Maximum size of a line in bytes, so that a file without line feeds does not take all memory."""


class Text(Protocol):
    """A file of sparse text; iterating reads it from the beginning, and sets the counts by its end."""

    path: Path
    features: int
    labels: int
    flags: int

    def __iter__(self) -> Iterator[Block]: ...


def lines(path: Path) -> Generator[tuple[int, bytes], None, None]:
    """Yield whole lines: the number of the first one, counted from 1, and bytes that end with a line feed.

    A line feed is added to a last line without one. Raises DataInvalid for damaged or truncated gzip, a file that
    cannot be read, and a line of more than 16 MiB.
    """
    line, held = 1, 0
    rest: list[bytes] = []
    try:
        with _opened(path) as file:
            while piece := file.read(PIECE):
                cut = piece.rfind(b"\n") + 1
                if cut:
                    text = b"".join([*rest, piece[:cut]])
                    yield line, text
                    line += text.count(b"\n")
                    rest, held = [], 0
                rest.append(piece[cut:])
                held += len(piece) - cut
                if held > LONGEST_LINE:
                    raise DataInvalid(
                        f"{path}, line {line}: longer than {LONGEST_LINE} bytes; is this a text file?"
                    )
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataInvalid(
            f"{path}, after line {line - 1}: damaged or truncated gzip file ({error}); fetch it again"
        ) from None
    except OSError as error:
        raise DataInvalid(f"{path}, after line {line - 1}: cannot be read ({error})") from None
    if held:
        yield line, b"".join(rest) + b"\n"


def _opened(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    file = path.open("rb")
    if file.peek(2)[:2] == b"\x1f\x8b":
        file.close()
        raise DataInvalid(f"{path} is a gzip file: add .gz to its name, or unpack it")
    return file


def parsed(path: Path, line: int, text: bytes, rules: Rules, flags: int = 0) -> Block:
    """Return the items of the lines `text`, the first of which has the number `line`.

    `flags` are those of the lines before them. Raises DataInvalid with line and column of the first fault.
    """
    block = sparse_tokens.parse(text, rules)
    if block is not None and not (rules.libsvm and _contradicts(block, flags)):
        return block
    for number, each in enumerate(text[:-1].split(b"\n"), line):
        try:
            flags = sparse_lines.check(each, rules, flags)
        except LineFault as fault:
            raise DataInvalid(f"{path}, line {number}, column {fault.column}: {fault}") from None
    last = line + text.count(b"\n") - 1
    raise DataInvalid(
        f"{path}, lines {line} to {last}: not accepted, although no line has a fault; report this file"
    )


def _contradicts(block: Block, flags: int) -> bool:
    """Return whether lines of a LIBSVM file contradict each other or lines with `flags` before them."""
    filled, every = block.filled, flags | block.flags
    last = len(filled) - int(filled[::-1].argmax()) if filled.any() else 0
    gap = bool(last) and (bool(flags & EMPTY) or not filled[:last].all())
    return gap or bool(every & NEGATIVE and every & OTHER)


def collect(text: Text) -> Bags:
    """Return all items of a text in memory."""
    blocks = list(text)
    features, labels = joined([b.features for b in blocks]), joined([b.labels for b in blocks])
    return Bags(features, labels, text.features, text.labels)


def joined(parts: list[Csr]) -> Csr:
    """Return rows one after the other; at least one part."""
    starts = starts_of(np.concatenate([part.counts for part in parts]))
    values = [part.values for part in parts if part.values is not None]
    return Csr(starts, np.concatenate([part.ids for part in parts]), np.concatenate(values) if values else None)
