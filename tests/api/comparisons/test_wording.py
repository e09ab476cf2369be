"""Every kind of sentence, word by word."""

import pytest
from hooke_api.comparisons.verdict import Outcome, compare
from hooke_api.comparisons.wording import Place, figure, group_sentence, sentence

QUICK = {i: Outcome(t, True) for i, t in enumerate((5, 5.2, 5.1, 5.3, 4.9))}
MISSED_LATE = {
    i: Outcome(*o) for i, o in enumerate([(20, False), (21, True), (20.5, False), (22, True), (19, True)])
}
MISSED_SOON = {i: Outcome(*o) for i, o in enumerate([(4, False), (5.5, True), (4, False), (6, True), (5, True)])}
A_BIT_LATER = {i: Outcome(o.seconds * 1.003, True) for i, o in QUICK.items()}


@pytest.mark.parametrize(
    ("baseline", "variant", "said"),
    [
        (
            QUICK,
            MISSED_LATE,
            "V takes at least 4.0x as long as B to reach the target "
            "(95% from 3.9, 5 seeds; V missed it with 2 of 5 seeds).",
        ),
        (
            MISSED_SOON,
            QUICK,
            "Not shown that V and B differ: B missed it with 2 of 5 seeds, "
            "and the bound that is left (from 0.77) does not exclude 1 (5 seeds).",
        ),
        (
            MISSED_SOON,
            MISSED_SOON,
            "Not shown that V and B differ: B missed it with 2 of 5 seeds "
            "and V missed it with 2 of 5 seeds (5 seeds).",
        ),
        (
            A_BIT_LATER,
            QUICK,
            "V and B are practically the same: ratio 1.003, and its 95% interval 1.003 to 1.003 "
            "lies within 1% of 1 (5 seeds).",
        ),
        ({0: QUICK[0], 1: QUICK[1]}, QUICK, "No claim on V: 2 pairs of finished seeds, and 3 are needed."),
    ],
)
def test_sentences(baseline, variant, said):
    assert sentence("V", "B", compare(baseline, variant), "", None) == said


def test_a_group_says_everything_at_once():
    place = Place("local", 2, False, True, 14, 15, 1)
    verdicts = [
        ("W", compare(MISSED_LATE, QUICK)),
        ("X", compare(QUICK, MISSED_LATE)),
        ("Y", compare(QUICK, QUICK)),
    ]
    assert group_sentence(place, "B", "90% validation accuracy", verdicts) == (
        "On local (2 workers, real, oversubscribed: more ranks than cores, "
        "so far 14 of 15 runs ended, 1 run failed), time to 90% validation accuracy against B, "
        "95% intervals: faster: W at least 4.0x (from 3.9, n=5); "
        "slower: X at least 4.0x as long (from 3.9, n=5); practically the same: Y 1.0x (1.0 to 1.0, n=5)."
    )
    assert group_sentence(place, "B", "t", []).endswith("there is no variant to compare with B.")


def test_figures_never_round_to_one():
    said = [figure(v) for v in (1, 1.01, 0.999, 2.14, 0.523, 12.3, 1234, 0.0123, 1.96)]
    assert said == ["1.0", "1.01", "0.999", "2.1", "0.52", "12", "1,234", "0.012", "2.0"]
