"""The retry policy by itself: what follows an attempt, and when."""

import pytest
from hooke.spec.retry import RetryPolicy
from hooke.spec.specification import ExperimentSpec, fingerprint
from hooke_api.scheduling.retries import Following, following

from tests.api.hands import SPEC


@pytest.mark.parametrize(
    ("policy", "cause", "failures", "progressed", "expected"),
    [
        ({}, "infrastructure", 0, False, Following(1, 10.0)),
        ({}, "lost", 1, True, Following(2, 20.0)),
        ({}, "infrastructure", 2, True, "3 of 3 have failed"),
        ({"attempts": 1}, "lost", 0, True, "1 of 1 have failed"),
        ({}, "time_limit", 2, True, Following(2, 0.0)),
        ({}, "time_limit", 0, False, "no further checkpoint"),
        ({"causes": ["lost"]}, "infrastructure", 0, True, "none after this cause (infrastructure)"),
        ({"causes": []}, "time_limit", 0, True, "none after this cause (time_limit)"),
        (
            {"attempts": 100, "backoff_seconds": 7, "longest_backoff_seconds": 50},
            "lost",
            98,
            False,
            Following(99, 50),
        ),
    ],
)
def test_what_follows_an_attempt(policy, cause, failures, progressed, expected):
    found = following(RetryPolicy(**policy), cause, failures, progressed)
    assert found == expected if isinstance(expected, Following) else expected in found


def test_pauses_double_up_to_the_longest():
    assert [RetryPolicy().backoff(n) for n in (1, 2, 3, 7, 8, 10**6)] == [10, 20, 40, 600, 600, 600]


def test_documents_without_a_policy_keep_their_fingerprint():
    """The digest is that of the version before policies existed."""
    tree = {"communication": {"collective": "tree"}}  # the default of that version
    document = SPEC | {"variants": [each | tree for each in SPEC["variants"]]}
    plain = ExperimentSpec.model_validate(document)
    assert "retry" not in plain.model_dump(mode="json")
    assert fingerprint(plain) == "434013fe7902ede4e0fb84bdf46970acf84635fe859c3c605babbc4601c234ce"
    given = ExperimentSpec.model_validate(document | {"retry": {"attempts": 5}})
    assert fingerprint(given) != fingerprint(plain)
