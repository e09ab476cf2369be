"""Figures in words: three significant digits, units beside them."""

from __future__ import annotations

import math

from hooke_api.comparisons.schemas import Estimate, SpeedUp, TimeToTarget

NONE = "\u2013"
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure with so many significant digits, and thousands separators."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def factor(value: float) -> str:
    """Return a ratio likewise, with more digits if it would otherwise be rounded to 1."""
    texts = (number(value, digits) for digits in range(3, 10))
    return next((text for text in texts if text != "1" or value == 1), "1")


def percent(value: float | None) -> str:
    """Return a fraction as a percentage."""
    return NONE if value is None else f"{100 * value:.1f}%"


def size(value: float | None) -> str:
    """Return bytes in powers of 1,000."""
    if value is None:
        return NONE
    unit = 0
    while abs(value) >= 1000 and unit < len(_BYTES) - 1:
        value /= 1000
        unit += 1
    return f"{number(value)} {_BYTES[unit]}"


def estimate(found: Estimate, scale: float = 1.0, decimals: int | None = None) -> str:
    """Return a mean with its 95% interval; `decimals`: of both, by default three significant digits."""
    if found.mean is None:
        return NONE

    def told(value: float) -> str:
        return number(value * scale) if decimals is None else f"{value * scale:.{decimals}f}"

    if found.low is None or found.high is None:
        return told(found.mean)
    return f"{told(found.mean)} ({told(found.low)} to {told(found.high)})"


def time_to_target(found: TimeToTarget | None) -> str:
    """Return a time to the target, and how many seeds reached it."""
    if found is None or found.n == 0:
        return NONE
    reached = f"{found.reached} of {found.n} reached"
    if found.mean is not None:
        return f"{number(found.mean)} ({reached})"
    return (
        f"{number(found.median)} (median, {reached})" if found.median is not None else f"not reached ({reached})"
    )


def estimated(found: SpeedUp) -> float | None:
    """Return the ratio as an estimate; None where seeds that missed the target leave a bound, or not even that."""
    bound = found.censored > 0 and (found.claim == "no claim" or found.censored >= found.pairs)
    return None if bound else found.ratio


def speed_up(found: SpeedUp) -> str:
    """Return a speed-up with its interval and its claim."""
    if found.claim == "baseline":
        return "1 (baseline)"
    if found.ratio is None:
        return found.claim
    ratio = estimated(found)
    ends = [None if each is None else factor(each) for each in (found.low, found.high)]
    interval = {
        (True, True): f" ({ends[0]} to {ends[1]})",
        (True, False): f" (from {ends[0]})",
        (False, True): f" (up to {ends[1]})",
        (False, False): "",
    }[ends[0] is not None, ends[1] is not None]
    told = f"{'' if ratio is None else factor(ratio)}{'' if found.claim == 'no claim' else interval}".strip()
    return f"{told}, {found.claim}" if told else found.claim
