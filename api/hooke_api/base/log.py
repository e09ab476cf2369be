"""Structured logs on stderr: one JSON object per line, or readable lines on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog


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
    structlog.configure(
        processors=[*processors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(threshold, logging.WARNING), stream=sys.stderr)
