"""Simulated truths: log-normal times to the target, seen through evaluations, budgets and divergence.

`python -m tests.engine.comparison.truths` prints how often the rule is wrong, and how often it finds something.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict, compare_all

Group = tuple[dict[int, Crossing], dict[str, dict[int, Crossing]]]


@dataclass(frozen=True)
class Truth:
    """What is true of a baseline, whose median time is 1, and of `variants` alike variants."""

    seeds: int
    ratio: float = 1.0
    """Median time of the baseline over a variant's."""
    noise: float = 0.1
    """Standard deviation of the logarithm of each run's time."""
    shared: float = 0.0
    """The same of what both runs of a seed have in common: 0 is unpaired noise."""
    evaluations: int = 20
    """Evaluations until the baseline's median time; a variant's come as often in time or (half) in samples."""
    budget: float = math.inf
    """The baseline's runs end here, without the target if their time is longer."""
    variant_budget: float = math.inf
    diverging: float = 0.0
    """Probability of a run of the baseline to diverge, at a tenth of its time."""
    variant_diverging: float = 0.0
    variants: int = 1
    tail: float | None = None
    """Degrees of freedom of Student's t in place of the normal noise."""
    late: float = 0.0
    """Probability of any run to take 2.7 times as long."""
    missing: float = 0.0
    """Probability of any run to miss the target by an end of three times the median time, however long its own."""

    @property
    def alike(self) -> bool:
        return self.ratio == 1 and self.diverging == self.variant_diverging


def _noise(truth: Truth, rng: np.random.Generator):
    """Return the factor on the time of each run."""
    size = (1 + truth.variants, truth.seeds)
    drawn = rng.standard_normal(size) if truth.tail is None else rng.standard_t(truth.tail, size)
    factor = np.exp(truth.noise * drawn)
    if truth.late:
        factor = np.where(rng.random(size) < truth.late, 2.7 * factor, factor)
    return np.where(rng.random(size) < truth.missing, math.inf, factor) if truth.missing else factor


def _crossings(times, step, phase, budget, diverged) -> dict[int, Crossing]:
    """Return what evaluations at step * (phase, 1 + phase, ...) see of times; all of one run."""
    passed = np.maximum(np.ceil(times / step - phase), 0)
    by = step * (passed + phase)
    after = np.where(passed > 0, by - step, 0.0)
    found = {}
    for seed, (a, b) in enumerate(zip(after.tolist(), by.tolist(), strict=True)):
        if diverged[seed]:
            found[seed] = Crossing(float(times[seed]) / 10, None, True)
        elif b > budget:
            found[seed] = Crossing(budget, None)
        else:
            found[seed] = Crossing(a, b)
    return found


def groups(truth: Truth, count: int, rng: np.random.Generator) -> Iterator[Group]:
    """Yield `count` groups: a baseline and its variants, by seed. Every group has another phase of evaluations."""
    n, step = truth.seeds, 1 / truth.evaluations
    for i in range(count):
        phase = rng.uniform(0.01, 1)
        shared = truth.shared * rng.standard_normal(n)
        times = np.exp(shared) * _noise(truth, rng)
        diverged = rng.random((1 + truth.variants, n))
        base = _crossings(times[0], step, phase, truth.budget, diverged[0] < truth.diverging)
        variant_step = step / truth.ratio if i % 2 else step
        others = {
            str(k): _crossings(
                times[k] / truth.ratio,
                variant_step,
                phase,
                truth.variant_budget,
                diverged[k] < truth.variant_diverging,
            )
            for k in range(1, 1 + truth.variants)
        }
        yield base, others


@dataclass
class Found:
    """What the rule said of a truth, counted."""

    claims: Counter[str]
    groups: int
    wrong_groups: int
    """Groups in which a variant was said to be faster or slower."""
    missed_low: int
    """Intervals whose lower end is above the true ratio."""
    missed_high: int
    intervals: int
    """Verdicts that give at least one end."""

    @property
    def verdicts(self) -> int:
        return sum(self.claims.values())

    def share(self, *claims: str) -> float:
        return sum(self.claims[c] for c in claims) / self.verdicts

    @property
    def missed(self) -> float:
        """Return the share of intervals, or of bounds, that the true ratio is not in."""
        return (self.missed_low + self.missed_high) / max(1, self.intervals)


DIFFERENT = ("faster", "slower", "at least", "at most")


def judge(truth: Truth, count: int, seed: int) -> Found:
    found = Found(Counter(), 0, 0, 0, 0, 0)
    for base, others in groups(truth, count, np.random.default_rng(seed)):
        verdicts: list[Verdict] = list(compare_all(base, others).values())
        found.groups += 1
        found.wrong_groups += any(v.claim in DIFFERENT for v in verdicts)
        for v in verdicts:
            found.claims[v.claim] += 1
            found.intervals += v.low is not None or v.high is not None
            found.missed_low += v.low is not None and v.low > truth.ratio
            found.missed_high += v.high is not None and v.high < truth.ratio
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print("no difference: share of groups with a false claim; share of intervals that miss the truth")
    for variants in (1, 6):
        for seeds in (3, 5, 10):
            for name, changes in CONDITIONS.items():
                for evaluations in (5, 100):
                    truth = replace(Truth(seeds, evaluations=evaluations, variants=variants), **changes)
                    found = judge(truth, count // (variants if variants > 1 else 1), seeds)
                    print(
                        f"{variants} variants, {seeds:2} seeds, {evaluations:3} evaluations, {name:28} "
                        f"false {found.wrong_groups / found.groups:6.2%}  missed {found.missed:6.2%}  "
                        f"{dict(found.claims)}",
                        flush=True,
                    )
    print("power: share of verdicts 'faster' or 'at least'")
    for noise in (0.03, 0.1):
        for evaluations in (5, 20, 100):
            for seeds in (3, 5, 10):
                cells = [
                    judge(Truth(seeds, ratio, noise, noise / 2, evaluations, variants=v), count // 4, 7)
                    for v in (1, 6)
                    for ratio in (1.1, 1.2, 1.5, 2)
                ]
                shares = "  ".join(f"{c.share('faster', 'at least'):5.0%}" for c in cells)
                print(f"noise {noise:4}, {evaluations:3} evaluations, {seeds:2} seeds: {shares}", flush=True)


CONDITIONS: dict[str, dict[str, float]] = {
    "unpaired": {},
    "paired": {"shared": 0.3, "noise": 0.05},
    "censored": {"budget": 1.05, "variant_budget": 1.05},
    "baseline censored": {"budget": 1.0},
    "variant censored": {"variant_budget": 0.9, "shared": 0.1},
    "diverged": {"diverging": 0.2, "variant_diverging": 0.2},
    "often diverged": {"diverging": 0.5, "variant_diverging": 0.5, "noise": 0.03},
    "censored and diverged": {
        "budget": 1.1,
        "variant_budget": 1.1,
        "diverging": 0.2,
        "variant_diverging": 0.2,
        "shared": 0.1,
    },
    "heavy tails": {"tail": 2.0},
    "late": {"late": 0.1, "shared": 0.1},
    "missing": {"missing": 0.2, "budget": 3.0, "variant_budget": 3.0},
}
"""What may happen to runs; nothing here makes a difference between baseline and variant but their budgets."""


if __name__ == "__main__":
    main()
