"""The one validator: what is valid survives a round trip, what is not is refused at its place."""

import json
from typing import Any

import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.expand import MAX_RUNS, expand, experiment_warnings
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.errors import SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec, RunSpec, canonical, fingerprint
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.engine.spec.documents import JSON, damaged, experiment, experiments, run

VALIDATORS = {"experiment": (validate_experiment, experiment), "run": (validate_run, run)}


def problems_of(document: Any, validate: Any = validate_experiment) -> dict[str, str]:
    """Return pointer -> message of every fault; each pointer must lead into the document."""
    with pytest.raises(SpecError) as caught:
        validate(document)
    assert caught.value.faults
    for problem in caught.value.faults:
        assert_leads_into(document, problem.pointer)
        assert problem.message
    return {problem.pointer: problem.message for problem in caught.value.faults}


def assert_leads_into(document: Any, place: str) -> None:
    """Resolve an RFC 6901 pointer; only its last part may be a key that is missing from an object."""
    assert place == "" or place.startswith("/")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:]]
    node = document
    for depth, part in enumerate(parts):
        if isinstance(node, list):
            assert part.isdecimal(), f"{place}: {part!r} is no index"
            node = node[int(part)]
        else:
            assert isinstance(node, dict), f"{place}: nothing lies below {parts[:depth]}"
            if part not in node:
                assert depth == len(parts) - 1, f"{place}: {part!r} is missing on the way"
                return
            node = node[part]


@settings(max_examples=100)
@given(experiments())
def test_a_valid_experiment_survives_a_round_trip(document):
    spec = validate_experiment(document)
    again = validate_experiment(json.loads(canonical(spec)))
    assert again == spec
    assert canonical(again) == canonical(spec)
    assert fingerprint(again) == fingerprint(spec)
    shuffled = {key: document[key] for key in reversed(document)}
    assert fingerprint(validate_experiment(shuffled)) == fingerprint(spec)


CORES = 2


def unfit(spec):
    """Return the variants that refuse a number of workers they are to run on."""
    found = set()
    for variant in spec.variants:
        kind = catalogue()[variant.algorithm]
        asked = {CORES if w == "auto" else w for cluster in spec.clusters for w in cluster.workers}
        if any(kind.model_validate(variant.parameters).faults(min(w, kind.max_workers or w)) for w in asked):
            found.add(variant.name)
    return found


@given(experiments())
def test_every_planned_run_is_a_valid_run(document):
    spec = validate_experiment(document)
    if refused := unfit(spec):
        with pytest.raises(SpecError) as caught:
            expand(spec, {"local": CORES})
        places = {f"/variants/{i}/parameters" for i, v in enumerate(spec.variants) if v.name in refused}
        assert {problem.pointer for problem in caught.value.faults} == places
        return
    planned = expand(spec, {"local": CORES})
    cells = [(p.variant, p.cluster, p.workers, p.seed) for p in planned]
    assert len(set(cells)) == len(cells)
    for p in planned:
        again = validate_run(json.loads(canonical(p.spec)))
        assert again == p.spec
        assert (again.workers, again.seed) == (p.workers, p.seed)
        assert set(again.algorithm.parameters) == set(catalogue()[again.algorithm.name].model_fields)


@pytest.mark.parametrize("kind", VALIDATORS)
def test_the_example_is_valid(kind):
    validate, make = VALIDATORS[kind]
    validate(make())


@pytest.mark.parametrize("kind", VALIDATORS)
def test_damage_is_refused_at_its_place_or_harmless(kind):
    validate, make = VALIDATORS[kind]

    @settings(max_examples=400)
    @given(damaged(make()))
    def check(document):
        try:
            spec = validate(document)
        except SpecError:
            problems_of(document, validate)
        else:
            assert validate(json.loads(canonical(spec))) == spec

    check()


@pytest.mark.parametrize("kind", VALIDATORS)
def test_garbage_raises_nothing_but_spec_error(kind):
    validate, _ = VALIDATORS[kind]

    @given(JSON)
    @example([])
    @example("")
    @example(None)
    def check(document):
        problems_of(document, validate)

    check()


def nested(depth: int) -> Any:
    """Return lists within objects within lists, deeper than any recursion limit."""
    node: Any = 1
    for _ in range(depth):
        node = [{"a": node}]
    return node


@pytest.mark.parametrize("kind", VALIDATORS)
@pytest.mark.parametrize("field", ["name", "workload", "variants", "algorithm", "budget", "workers", "extra"])
def test_deep_garbage_is_refused(kind, field):
    validate, make = VALIDATORS[kind]
    for document in (make(**{field: nested(20_000)}), nested(20_000)):
        with pytest.raises(SpecError):
            validate(document)


def test_deep_garbage_in_parameters_is_refused():
    variant = {"name": "sync", "algorithm": "sync-easgd"}
    for parameters in ({"rho": nested(20_000)}, {"what": nested(20_000)}):
        problems_of(experiment(variants=[variant | {"parameters": parameters}]))


PLAIN = {"name": "hogwild-easgd", "parameters": {"updates": "plain"}}
LIBRARY_IN_BF16 = {"collective": "library", "wire": "bf16"}

FAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "unknown algorithm": (
        {"variants": [{"name": "sync", "algorithm": "sgd-deluxe"}]},
        {"/variants/0/algorithm"},
    ),
    "negative rho": (
        {"variants": [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"rho": -1}}]},
        {"/variants/0/parameters/rho"},
    ),
    "rho is not a number": (
        {"variants": [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"rho": float("nan")}}]},
        {"/variants/0/parameters/rho"},
    ),
    "infinite learning rate": (
        {"variants": [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"lr": float("inf")}}]},
        {"/variants/0/parameters/lr"},
    ),
    "unknown parameter, with a slash and a tilde": (
        {"variants": [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"a/b~c": 1}}]},
        {"/variants/0/parameters/a~1b~0c"},
    ),
    "no workers": ({"clusters": [{"name": "local", "workers": [2, 0]}]}, {"/clusters/0/workers/1"}),
    "workers is a word": ({"clusters": [{"name": "local", "workers": ["many"]}]}, {"/clusters/0/workers/0"}),
    "workers is a number": ({"clusters": [{"name": "local", "workers": 2}]}, {"/clusters/0/workers"}),
    "workers twice": ({"clusters": [{"name": "local", "workers": [2, 2]}]}, {"/clusters/0/workers/1"}),
    "10,000 seeds": ({"clusters": [{"name": "local", "seeds": 10_000}]}, {"/clusters/0/seeds"}),
    "same variant name, but for spaces": (
        {"variants": [{"name": "sync", "algorithm": "sgd"}, {"name": " sync ", "algorithm": "sgd"}]},
        {"/variants/1/name"},
    ),
    "same cluster": ({"clusters": [{"name": "local"}, {"name": "local"}]}, {"/clusters/1/name"}),
    "unknown baseline": ({"baseline": "best"}, {"/baseline"}),
    "unknown workload": ({"workload": {"name": "none"}}, {"/workload/name"}),
    "unknown workload parameter": (
        {"workload": {"name": "digits-mlp", "parameters": {"x": 1}}},
        {"/workload/parameters/x"},
    ),
    "accuracy in percent": ({"target": {"value": 90}}, {"/target/value"}),
    "target is not a number": (
        {"target": {"metric": "validation_loss", "value": float("nan")}},
        {"/target/value"},
    ),
    "target on the test part": ({"target": {"metric": "test_loss", "value": 0.5}}, {"/target/metric"}),
    "too many evaluations": ({"budget": {"samples": 10**9}, "evaluation": {"every": 1}}, {"/evaluation/every"}),
    "nothing to run": ({"variants": []}, {"/variants"}),
    "no time": ({"budget": {"samples": 100, "max_seconds": 0}}, {"/budget/max_seconds"}),
    "virtual, computed nowhere": (
        {"clusters": [{"name": "slow", "workers": [2], "virtual": {}}]},
        {"/clusters/0/computed_on"},
    ),
    "virtual, with as many workers as cores": (
        {"clusters": [{"name": "slow", "computed_on": "local", "virtual": {}}]},
        {"/clusters/0/workers"},
    ),
    "computed elsewhere, but not virtual": (
        {"clusters": [{"name": "a", "computed_on": "b"}]},
        {"/clusters/0/computed_on"},
    ),
    "a half type that MPI cannot add, and MPI where there is none": (
        {"variants": [{"name": "sync", "algorithm": "sync-sgd", "communication": LIBRARY_IN_BF16}]},
        {"/variants/0/communication/wire", "/variants/0/communication/collective"},
    ),
    "plain stores where messages take time": (
        {
            "variants": [
                {"name": "sync", "algorithm": "hogwild-sgd"},
                {"name": "torn", "algorithm": "hogwild-sgd", "parameters": {"updates": "plain"}},
            ]
        },
        {"/variants/1/parameters/updates"},
    ),
    "another schema": ({"schema": "hooke.experiment/2"}, {"/schema"}),
    "a field too many": ({"nmae": "x"}, {"/nmae"}),
    "two faults": ({"batch": 0, "first_seed": -1}, {"/batch", "/first_seed"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_at_its_place_alone(fault):
    changes, places = FAULTS[fault]
    if "variants" in changes and fault != "nothing to run":
        changes = {"baseline": "sync"} | changes
    assert set(problems_of(experiment(**changes))) == places


def test_a_missing_field_is_pointed_at():
    document = experiment()
    del document["budget"]
    del document["evaluation"]["every"]
    assert set(problems_of(document)) == {"/budget", "/evaluation/every"}


def test_both_branches_of_a_union_are_said_at_one_place():
    (message,) = problems_of(experiment(clusters=[{"name": "local", "workers": [0]}])).values()
    assert "greater than or equal to 1" in message
    assert "'auto'" in message


@pytest.mark.parametrize(
    "changes, places",
    [
        ({"algorithm": {"name": "none"}}, {"/algorithm/name"}),
        ({"algorithm": {"name": "sync-easgd", "parameters": {"rho": -1}}}, {"/algorithm/parameters/rho"}),
        ({"algorithm": {"name": "sgd"}, "workers": 2}, {"/workers"}),
        ({"workers": 0}, {"/workers"}),
        ({"virtual": None}, {"/virtual"}),
        ({"communication": LIBRARY_IN_BF16}, {"/communication/wire", "/communication/collective"}),
        ({"communication": LIBRARY_IN_BF16, "world": "mpi", "virtual": None}, {"/communication/wire"}),
        ({"algorithm": PLAIN}, {"/algorithm/parameters/updates"}),
        ({"algorithm": PLAIN, "virtual": {"latency": 0.0}}, {"/algorithm/parameters/updates"}),
        ({"seed": 2**40}, {"/seed"}),
        ({"budget": {"samples": 0}}, {"/budget/samples"}),
    ],
)
def test_faults_of_a_run(changes, places):
    assert set(problems_of(run(**changes), validate_run)) == places


@pytest.mark.parametrize(
    "changes", [{"virtual": {"latency": 0.0, "seconds_per_byte": 0.0}}, {"world": "mpi", "virtual": None}]
)
def test_plain_stores_are_allowed_where_ranks_may_share_memory(changes):
    assert validate_run(run(algorithm=PLAIN, **changes)).algorithm.parameters == {"updates": "plain"}


@pytest.mark.parametrize("odd", ["\ud800", "a\x00b", "x" * 10_000, "\u202e"])
def test_odd_text_is_refused_or_kept(odd):
    for document in (experiment(**{odd: 1}), experiment(name=odd), experiment(baseline=odd)):
        try:
            spec = validate_experiment(document)
        except SpecError:
            problems_of(document)
        else:
            assert spec.name == odd
            assert validate_experiment(json.loads(canonical(spec))) == spec


@pytest.mark.parametrize("number", [10**400, -(10**400), 2**63, 1e308, -0.0, 5e-324])
@pytest.mark.parametrize("field", ["batch", "first_seed", "samples", "max_seconds", "every", "value", "latency"])
def test_extreme_numbers_raise_nothing_but_spec_error(field, number):
    document = experiment()
    places = [document, document["budget"], document["evaluation"], document["target"]]
    places.append(document["clusters"][1]["virtual"])
    for place in places:
        if field in place:
            place[field] = number
    try:
        canonical(validate_experiment(document))
    except SpecError:
        problems_of(document)


def test_whole_numbers_and_fractions_plan_the_same_run():
    def planned(rho):
        variants = [{"name": "sync", "algorithm": "sync-easgd", "parameters": {"rho": rho}}]
        spec = validate_experiment(experiment(variants=variants))
        return [fingerprint(p.spec) for p in expand(spec, {"local": 2})]

    assert planned(1) == planned(1.0)
    assert planned(1) != planned(1.5)


def test_the_product_is_planned_with_seeds_outermost():
    spec = validate_experiment(experiment())
    planned = expand(spec, {"local": 3})
    expected = [(seed, workers, name) for seed in (7, 8, 9) for workers in (3, 2) for name in ("sync", "sum")]
    assert [(p.seed, p.workers, p.variant) for p in planned if p.cluster == "local"] == expected
    assert [(p.host, p.spec.world) for p in planned if p.cluster == "slow"] == [("local", "virtual")] * 4


def test_a_sequential_method_is_planned_once_however_many_workers_are_asked():
    variants = [{"name": "one", "algorithm": "sgd"}, {"name": "sync", "algorithm": "sync-sgd"}]
    clusters = [{"name": "local", "workers": [2, 4], "seeds": 1}]
    spec = validate_experiment(experiment(variants=variants, clusters=clusters, baseline="one"))
    cells = [(p.variant, p.workers) for p in expand(spec, {"local": 4})]
    assert sorted(cells) == [("one", 1), ("sync", 2), ("sync", 4)]


def test_auto_that_meets_a_number_is_planned_once():
    spec = validate_experiment(experiment(clusters=[{"name": "local", "workers": ["auto", 2], "seeds": 1}]))
    assert [p.workers for p in expand(spec, {"local": 2})] == [2, 2]  # two variants, one run each


def test_an_unknown_cluster_and_too_many_runs_are_refused_at_their_place():
    document = experiment()
    document["clusters"][1]["computed_on"] = "moon"
    with pytest.raises(SpecError) as caught:
        expand(validate_experiment(document), {"local": 2})
    assert [p.pointer for p in caught.value.faults] == ["/clusters/1/computed_on"]
    assert "known: local" in caught.value.faults[0].message

    clusters = [{"name": f"c{i}", "workers": list(range(1, 9)), "seeds": 100} for i in range(2)]
    with pytest.raises(SpecError, match=f"at most {MAX_RUNS}") as caught:
        expand(validate_experiment(experiment(clusters=clusters)), {"c0": 2, "c1": 2})
    assert [p.pointer for p in caught.value.faults] == ["/clusters"]


@given(st.lists(st.text(max_size=6) | st.integers(0, 9), max_size=5))
def test_pointers_escape_what_they_must(parts):
    text = pointer(*parts)
    assert [p.replace("~1", "/").replace("~0", "~") for p in text.split("/")[1:]] == [str(p) for p in parts]


@pytest.mark.parametrize("kind", [ExperimentSpec, RunSpec])
def test_specifications_are_immutable(kind):
    spec = validate_experiment(experiment()) if kind is ExperimentSpec else validate_run(run())
    with pytest.raises(ValueError, match="frozen"):
        spec.batch = 3


def test_the_earlier_name_of_a_virtual_clusters_host_is_read_with_a_hint():
    document = experiment()
    now = validate_experiment(document)
    virtual = document["clusters"][1]
    virtual["on"] = virtual.pop("computed_on")
    before = validate_experiment(document)
    assert canonical(before) == canonical(now)
    said = [experiment_warnings(spec, expand(spec, {"local": 2})) for spec in (before, now)]
    (hint,) = [each for each in said[0] if each not in said[1]]
    assert hint.pointer == "/clusters/1/on"
    assert "`computed_on`" in hint.message


def test_both_names_at_once_are_refused():
    document = experiment()
    document["clusters"][1]["on"] = "local"
    with pytest.raises(SpecError) as caught:
        validate_experiment(document)
    assert [p.pointer for p in caught.value.faults] == ["/clusters/1/on"]


def test_a_document_without_a_longest_pause_keeps_its_fingerprint():
    """Agents of earlier versions refuse a key that they do not know."""
    assert "max_stall_seconds" not in canonical(validate_experiment(experiment()))
    patient = validate_experiment(experiment(budget={"samples": 1000, "max_stall_seconds": 600}))
    assert '"max_stall_seconds":600.0' in canonical(patient)
