"""Every kind of sentence, word by word."""

import pytest
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare, compare_all
from hooke.comparison.wording import ComparedPlace, figure, group_sentence, power_hint, sentence

from tests.engine.comparison.test_verdict import between, diverged, exactly, missed, mixed, reached

QUICK = reached(5, 5.2, 5.1, 5.3, 4.9)
MISSED_LATE = mixed((20, False), (21, True), (20.5, False), (22, True), (19, True))
MISSED_SOON = mixed((4, False), (5.5, True), (4, False), (6, True), (5, True))
A_BIT_LATER = {i: exactly(c.by * 1.003) for i, c in QUICK.items()}
THRICE_AS_QUICK = {i: exactly(c.by / 3) for i, c in QUICK.items()}
DIVERGED = QUICK | {0: diverged(0.1), 1: diverged(0.2)}


@pytest.mark.parametrize(
    ("baseline", "variant", "said"),
    [
        (
            QUICK,
            MISSED_LATE,
            "V takes at least 3.9x as long as B to reach the target "
            "(95% confidence, 5 seeds; V missed it with 2 of 5 seeds).",
        ),
        (
            MISSED_SOON,
            QUICK,
            "Not shown that V and B differ: B missed it with 2 of 5 seeds, "
            "and the remaining bound (from 0.77) does not exclude 1 (5 seeds).",
        ),
        (
            MISSED_SOON,
            MISSED_SOON,
            "V and B are practically the same: ratio 1.0, and its 95% interval 1.0 to 1.0 lies within 5% of 1 "
            "(3 seeds; left out: 2 seeds for which neither reached it).",
        ),
        (
            MISSED_SOON,
            QUICK | {1: missed(9)},
            "Not shown that V and B differ: B missed it with 2 of 5 seeds and V missed it with 1 of 5 seeds "
            "(5 seeds).",
        ),
        (
            DIVERGED,
            THRICE_AS_QUICK,
            "V reaches the target at least 3.0x faster than B "
            "(95% confidence, 5 seeds; B diverged with 2 of 5 seeds).",
        ),
        (
            DIVERGED | {2: missed(5.4)},
            THRICE_AS_QUICK | {4: Crossing(0.0, 0.0)},
            "V reaches the target at least 3.0x faster than B (95% confidence, 4 seeds; left out: 1 seed for "
            "which it was met before the first step; B missed it with 3 of 4 seeds (2 diverged)).",
        ),
        (
            A_BIT_LATER,
            QUICK,
            "V and B are practically the same: ratio 1.003, and its 95% interval 1.003 to 1.003 "
            "lies within 5% of 1 (5 seeds).",
        ),
        (
            between(*[(10, 11)] * 3),
            between(*[(9, 10)] * 3),
            "Not shown that V and B differ: ratio 1.1, and its 95% interval 0.87 to 1.4 includes 1, because "
            "times are only known to an evaluation interval: evaluate more often (3 seeds).",
        ),
        (
            between(*[(3, 4)] * 3),
            between(*[(3, 4)] * 3),
            "Not shown that V and B differ: ratio 1.0, and its 95% interval 0.50 to 2.0 includes 1; with "
            "evaluations this far apart no number of seeds would show a ratio of 1.3 (3 seeds).",
        ),
        (
            between((10, 11), (11, 12), (10, 11)),
            between((0, 5), (0, 5.1), (0, 4.9)),
            "V reaches the target at least 1.8x faster than B "
            "(95% confidence, 3 seeds; for 3 seeds a target was met "
            "at the first evaluation, so evaluate more often).",
        ),
        ({0: QUICK[0], 1: QUICK[1]}, QUICK, "No claim on V: 2 pairs of finished seeds, but 3 are needed."),
        (
            MISSED_LATE,
            {0: missed(20), 1: exactly(5), 2: missed(20), 3: exactly(5)},
            "No claim on V: 2 pairs of finished seeds (left out: 2 seeds for which neither reached it), "
            "but 3 are needed.",
        ),
    ],
)
def test_sentences(baseline, variant, said):
    assert sentence("V", "B", compare(baseline, variant), "", None) == said


def test_a_correction_is_said():
    baseline = reached(10, 10.5, 9.6)
    just, surely, alike = reached(10 / 1.2, 10.5 / 1.3, 9.6 / 1.4), reached(5, 5.2, 4.9), reached(10, 9.6, 10.5)
    group = compare_all(baseline, {"just": just, "surely": surely, "alike": alike, "two": reached(1, 1)})
    assert sentence("just", "B", group["just"], ", simulated", None) == (
        "Not shown that just and B differ: ratio 1.3 (95% interval 1.1 to 1.6) would be shown in a single "
        "comparison, but is not (3 seeds, simulated; after correction for 3 comparisons)."
    )
    assert sentence("surely", "B", group["surely"], "", None) == (
        "surely reaches the target 2.0x faster than B "
        "(95% interval 1.9 to 2.1, 3 seeds; after correction for 3 comparisons)."
    )
    place = ComparedPlace("local", 2, True, False, 15, 15, {})
    assert group_sentence(place, "B", "90% test accuracy", list(group.items())) == (
        "On local (2 workers, simulated), time to 90% test accuracy against B, 95% intervals, claims after "
        "correction for 3 comparisons: faster: surely 2.0x (1.9 to 2.1, n=3); not shown: just 1.3x (1.1 to 1.6, "
        "n=3, not after correction), alike 1.0x (0.80 to 1.2, n=3); "
        "no claim: two (2 pairs of finished seeds, but 3 are needed)."
    )


def test_a_group_says_everything_at_once():
    place = ComparedPlace("local", 2, False, True, 14, 15, {"X": 1, "Y": 2}, cancelled={"B": 1})
    verdicts = [
        ("W", compare(MISSED_LATE, QUICK)),
        ("X", compare(QUICK, MISSED_LATE)),
        ("Y", compare(QUICK, QUICK)),
    ]
    assert group_sentence(place, "B", "90% validation accuracy", verdicts) == (
        "On local (2 workers, real, oversubscribed: more ranks than cores, "
        "so far 14 of 15 runs ended, 3 runs failed: 2 of Y and 1 of X, 1 run cancelled: 1 of B), time to 90% "
        "validation accuracy against B, "
        "95% intervals: faster: W at least 3.9x (n=5); "
        "slower: X at least 3.9x as long (n=5); practically the same: Y 1.0x (1.0 to 1.0, n=5)."
    )
    assert group_sentence(place, "B", "t", []).endswith("there is no variant to compare with B.")


@pytest.mark.parametrize(("variants", "rest"), [(6, "1 of f"), (7, "1 more variant"), (9, "3 more variants")])
def test_of_many_variants_six_are_named_whose_runs_failed(variants, rest):
    place = ComparedPlace("local", 2, False, False, 15, 15, dict.fromkeys("abcdefghi"[:variants], 1))
    assert str(place).endswith(f", 1 of {'e' if variants == 6 else 'f'} and {rest})")


def test_figures_never_round_to_one():
    said = [figure(v) for v in (1, 1.01, 0.999, 2.14, 0.523, 12.3, 1234, 0.0123, 1.96)]
    assert said == ["1.0", "1.01", "0.999", "2.1", "0.52", "12", "1,234", "0.012", "2.0"]


def test_a_comparison_says_how_many_seeds_would_show_a_difference_and_where_none_would():
    noisy, apart = reached(10, 12, 9), between(*[(3, 4)] * 3)
    few = compare(noisy, reached(10, 9, 11))
    far, bound = compare(apart, apart), compare(between((3, 4), (3, 4)) | {2: missed(1)}, apart)
    assert (few.claim, far.claim, bound.claim, bound.high) == ("not shown", "not shown", "not shown", None)
    assert power_hint([("few", few)]) == f"Seeds that would show a ratio of 1.3: about {few.seeds_needed} for few."
    told = power_hint([("few", few), ("far", far), ("bound", bound)])
    assert "far apart no number of seeds would show a ratio of 1.3: far." in told and " for few. With" in told
    assert power_hint([("bound", bound), ("same", compare(QUICK, QUICK))]) is None
