"""Structured logs on stderr: one JSON object per line, or readable lines on a terminal.

A log that cannot be written, because its disk is full, is lost: an error of the log must not end what was logging.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from typing import TextIO

import structlog


class LossyStream:
    """A text stream that drops what cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text if that is possible; return its length."""
        with suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def configure(level: str) -> None:
    """Configure structlog, and send the standard library's warnings and errors to the same stream."""
    threshold = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
    ]
    if not sys.stderr.isatty():
        processors.append(structlog.processors.format_exc_info)
    stream = LossyStream(sys.stderr)
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(stream),  # type: ignore[arg-type]  # it only writes and flushes
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), stream=stream)
