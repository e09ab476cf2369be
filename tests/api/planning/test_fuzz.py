"""Any JSON as `tuning` or `search`: every dry run is answered, and every fault points into the document."""

import json

from hooke.catalogue.algorithm import catalogue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.engine.spec.documents import JSON, damaged

NUMBERS = st.sampled_from([0, -1, 1, 2, 0.5, 2.5, 1e-300, 1e300, -1e308, 1.7e308, 2**53, 2**70, 10**400, 5e-324])
VALUES = st.sampled_from([True, False, None, "sgd", "", 4, 0.1]) | NUMBERS
NAMES = st.sampled_from(["lr", "period", "momentum", "momentum_kind", "wire", "a/b~c", "", "inner", "rho"])
SPACE = st.fixed_dictionaries(
    {},
    optional={
        "low": NUMBERS | st.floats(),
        "high": NUMBERS | st.floats(),
        "scale": st.sampled_from(["linear", "log", "reverse-log", "cubic"]),
        "integer": st.booleans(),
        "choices": st.lists(VALUES, max_size=4),
        "when": st.dictionaries(NAMES, st.lists(VALUES, max_size=2), max_size=2),
    },
)
INTERVAL = st.fixed_dictionaries(
    {"low": NUMBERS, "high": NUMBERS},
    optional={"scale": st.sampled_from(["linear", "log", "reverse-log"]), "integer": st.booleans()},
)
SEARCH = st.dictionaries(NAMES, st.none() | SPACE | INTERVAL | JSON, max_size=4)
TUNING = st.fixed_dictionaries(
    {"trials": st.integers(2, 12)},
    optional={
        "seeds": st.integers(0, 11),
        "search": st.sampled_from(["quasi-random", "halving", "grid"]),
        "samples": st.none() | NUMBERS,
        "cluster": st.sampled_from([None, "local", "moon", ""]),
    },
)
VARIANT = st.fixed_dictionaries(
    {"name": st.just("v"), "algorithm": st.sampled_from(sorted(catalogue()))},
    optional={"search": SEARCH, "parameters": st.dictionaries(NAMES, VALUES, max_size=2)},
)
EXPERIMENT = st.builds(
    lambda variant, tuning: SPEC | {"variants": [variant], "baseline": "v", "tuning": tuning}, VARIANT, TUNING
)


def missing(document, pointer):
    """Return the first part of a pointer that is not in the document, and whether others follow it."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for depth, part in enumerate(parts):
        try:
            document = document[int(part) if isinstance(document, list) else part]
        except (KeyError, IndexError, TypeError, ValueError):
            return part, depth + 1 < len(parts)
    return None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=EXPERIMENT | EXPERIMENT.flatmap(damaged))
@ONE_KIND
def test_any_tuning_is_planned_or_refused_in_the_right_place(service, document):
    service.hello()
    answer = service.client.post(
        "/experiments/dry-run",
        content=json.dumps(document),  # with NaN and Infinity, which JSON does not have
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code == 422:
        for fault in answer.json()["errors"]:
            # a field that is missing is named; all before it is there
            assert missing(document, fault["pointer"]) is None or not missing(document, fault["pointer"])[1], fault
