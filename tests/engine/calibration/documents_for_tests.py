"""A calibration with given lines, as a machine would have made it."""

from datetime import UTC, datetime

from hooke.calibration.documents import Calibration, ComputeRate, Curve, Duration, Jitter, Line, Point
from hooke.calibration.paths import critical

SIZES = (8, 1 << 12, 1 << 17, 1 << 21)


def exact(alpha: float, beta: float) -> Line:
    return Line(alpha=alpha, alpha_error=alpha / 100, beta=beta, beta_error=beta / 100, misfit=0.0)


def curve(kind, alpha, beta, collective=None, slower=1.0) -> Curve:
    points = []
    for size in SIZES:
        messages, path = critical(kind, collective, 2, size)
        seconds = slower * (alpha * messages + beta * path)
        points.append(Point(bytes=size, ranks=2, seconds=seconds, error=seconds / 100, samples=50))
    return Curve(kind=kind, collective=collective, points=points, line=exact(alpha, beta))


def made(slower: float = 1.0, **changes) -> Calibration:
    """Return a calibration of two ranks; `slower`: factor on every message."""
    sums = {"tree": (1e-5, 2e-9), "halving": (2e-5, 3e-9), "ring": (3e-5, 4e-9)}
    curves = [
        curve("message", 6e-6, 1e-9, slower=slower),
        curve("stream", 2e-6, 0.5e-9),
        curve("all-gather", 9e-6, 1.5e-9),
        curve("window get", 4e-6, 0.8e-9),
        curve("add", 1e-7, 0.5e-9),
        *(curve("all-reduce", alpha, beta, name) for name, (alpha, beta) in sums.items()),
    ]
    seconds = Duration(seconds=1e-3, error=1e-5, samples=50)
    rate = ComputeRate(
        workload="digits-mlp",
        precision="fp32",
        elements=100_000,
        points=[{"batch": b, "seconds": 2e-4 + b * 1e-5, "error": 1e-6, "samples": 50} for b in (8, 32, 128)],
        line=exact(2e-4, 1e-5),
        alone=seconds,
        loop=seconds,
        loop_batch=32,
        accesses=3.0,
        jitter=Jitter(independent=0.1, slow=0.05, common=0.02, between_ranks=0.01, steps=16),
    )
    fields = {
        "at": datetime(2026, 11, 24, 12, tzinfo=UTC),
        "took": 30.0,
        "workers": 2,
        "hosts": 1,
        "cores": 2,
        "load": 0.0,
        "hardware": {"cpu": "test"},
        "versions": {"hooke": "0"},
        "start": Duration(seconds=2.0, error=0.1, samples=3),
        "curves": curves,
        "compute": [rate],
    }
    return Calibration(**(fields | changes))
