"""What fits in the memory of the virtual devices of a run (`hooke.spec.devices`): their batches, and their bounds.

    needed = vectors + kept + 8 activations samples        of a worker, as `footprint.py` predicts them
    samples = batch times the batches that it computes as a single one

Data are in the memory of the host. What does not fit is refused; where a method adapts its batches, their bound is
what fits. Not of a workload whose sizes nobody knows before it is built, nor of real devices.
"""

from __future__ import annotations

from collections.abc import Sequence

from hooke.catalogue.algorithm import Algorithm
from hooke.catalogue.discovery import built_in
from hooke.catalogue.footprint import Needs, of_worker
from hooke.spec.specification import RunSpec

UNBOUNDED = 10**9
"""Batches of a worker whose memory is not bounded: more than any setting allows."""


def faults(spec: RunSpec) -> list[str]:
    """Return why a run does not fit, of the first worker of each kind that is too small."""
    workers = _bounded(spec)
    found, method = dict[str, str](), _built_in(spec) if workers else None
    for worker, memory, needs in workers:
        least, kind = method.joined(worker, spec.workers)[0] if method else 1, _kind(spec, worker)
        if _most(needs, memory, spec.batch) < least and kind not in found:
            found[kind] = _sentence(f"worker {worker} ({kind})", needs, memory, least * spec.batch)
    asked, fit = method.unmeasured() * spec.workers if method else 0, sum(most(spec))
    if asked > fit and not found:
        why = f"a step has {asked:,} batches of {spec.batch:,} samples, but {fit:,} fit in the workers' memory"
        return [f"{why}: take a smaller `mean`, or a smaller batch"]
    return list(found.values())


def told(spec: RunSpec, method: Algorithm | None = None) -> list[str]:
    """Return, of each worker that is bounded by its memory, how many batches it computes as one at most."""
    fit = most(spec)
    method = (method or _built_in(spec)) if fit else None
    if method is None:
        return []
    asked = [method.joined(worker, spec.workers)[1] for worker in range(len(fit))]
    return [
        f"worker {worker} ({_kind(spec, worker)}): at most {fit[worker]:,} batches of "
        f"{spec.batch:,} samples at once instead of {asked[worker]:,}, by its memory"
        for worker in range(len(fit))
        if fit[worker] < asked[worker]
    ]


def most(spec: RunSpec) -> list[int]:
    """Return the batches that fit on worker 0, 1, ...; nothing if no memory is bounded or sizes are unknown."""
    fit = {worker: _most(needs, memory, spec.batch) for worker, memory, needs in _bounded(spec)}
    return [fit.get(worker, UNBOUNDED) for worker in range(spec.workers)] if fit else []


def bounded(spec: RunSpec, method: Algorithm) -> tuple[Algorithm, Sequence[int], dict[str, str]]:
    """Return the method of a run with what fits as bounds of its batches, these bounds, and a note."""
    said = told(spec, method)
    if not said:
        return method, (), {}
    fit = most(spec)
    return method.fitting(fit), fit, {"batches that fit": "; ".join(said)}


def _bounded(spec: RunSpec) -> list[tuple[int, int, Needs]]:
    """Return the workers whose memory is bounded, with it and with what they need."""
    if spec.world != "virtual" or spec.virtual is None or not spec.virtual.devices:
        return []
    profiles = [(worker, spec.virtual.profile(worker)) for worker in range(spec.workers)]
    known = [(worker, each.memory) for worker, each in profiles if each is not None and each.memory is not None]
    needs = of_worker(spec) if known else None
    return [(worker, memory, needs) for worker, memory in known] if needs else []


def _kind(spec: RunSpec, worker: int) -> str:
    group = spec.group(worker)
    return group.kind if group else ""


def _built_in(spec: RunSpec) -> Algorithm | None:
    """Return the method of a run; None: it is not a built-in one, of which one batch at a time is assumed."""
    item = built_in("algorithm").get(spec.algorithm.name)
    if item is None or spec.algorithm.hash is not None:
        return None
    method: Algorithm = item.cls.model_validate(spec.algorithm.parameters)
    return method


def _samples(needs: Needs, memory: int) -> int:
    """Return the samples that fit at once; negative: not even the vectors fit."""
    left = memory - needs.vectors - needs.kept
    return left // needs.sample if left < 0 or needs.sample else UNBOUNDED * UNBOUNDED


def _most(needs: Needs, memory: int, batch: int) -> int:
    return min(max(0, _samples(needs, memory)) // batch, UNBOUNDED)


def _sentence(worker: str, needs: Needs, memory: int, samples: int) -> str:
    fixed, fit = needs.vectors + needs.kept, _samples(needs, memory)
    of = f"{fixed:,} for its vectors, {samples * needs.sample:,} for activations of {samples:,} samples at once"
    largest = f"the largest batch that fits has {fit:,} samples" if fit > 0 else "no batch fits"
    needed = f"{fixed + samples * needs.sample:,}"
    return f"{worker} needs about {needed} bytes of memory ({of}), and its device has {memory:,}: {largest}"
