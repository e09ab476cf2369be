"""Variants that differ in how the workload is trained, not in what is learned."""

import pytest
from hooke.catalogue.expand import expand
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.errors import SpecError
from hooke.spec.specification import canonical
from hooke_api.clusters.catalogues import Reported

EXPERIMENT = {
    "name": "output layers",
    "workload": {"name": "xmlc-mlp", "parameters": {"labels": 50, "output": "in-batch"}},
    "variants": [
        {"name": "as given", "algorithm": "sgd"},
        {"name": "sampled", "algorithm": "sgd", "workload_settings": {"output": "sampled", "active": 20}},
    ],
    "baseline": "as given",
    "clusters": [{"name": "local", "workers": [1], "seeds": 1}],
    "budget": {"samples": 1000},
    "evaluation": {"every": 500},
}


def with_settings(**settings):
    plain, other = EXPERIMENT["variants"]
    return EXPERIMENT | {"variants": [plain, other | {"workload_settings": settings}]}


def faults(document):
    with pytest.raises(SpecError) as refused:
        validate_experiment(document)
    return {fault.pointer: fault.message for fault in refused.value.faults}


def test_runs_of_variants_learn_the_same_by_other_settings():
    plain, sampled = (run.spec for run in expand(validate_experiment(EXPERIMENT), {"local": 2}))
    assert plain.workload == sampled.workload
    assert (plain.workload_settings, plain.workload_parameters["output"]) == ({}, "in-batch")
    assert sampled.workload_settings == {"output": "sampled", "active": 20}
    assert (sampled.workload_parameters["output"], sampled.workload_parameters["labels"]) == ("sampled", 50)
    assert "workload_settings" not in canonical(plain), "documents without it keep their fingerprint"
    assert validate_run(sampled.model_dump(mode="json", by_alias=True)) == sampled


def test_what_is_learned_is_the_same_for_all_variants():
    found = faults(with_settings(labels=70))
    assert list(found) == ["/variants/1/workload_settings/labels"]
    assert (
        "a variant cannot set this parameter of xmlc-mlp; it may set: active, bucket, bucket_policy"
        in found.popitem()[1]
    )


@pytest.mark.parametrize(("settings", "place"), [({"output": "none"}, "output"), ({"active": 0}, "active")])
def test_a_wrong_value_is_told_where_it_is(settings, place):
    assert list(faults(with_settings(**settings))) == [f"/variants/1/workload_settings/{place}"]


def test_most_workloads_have_no_such_parameter():
    other = {"name": "digits-mlp"}
    (why,) = faults(with_settings(hidden1=3) | {"workload": other}).values()
    assert why.endswith("it may set: none")


def test_an_agent_reports_them_in_its_schema():
    fields = {"output": {"per_variant": True}, "labels": {}, "odd": 3}
    assert Reported({"schema": {"properties": fields}}).per_variant == {"output"}
    assert Reported({}).per_variant == Reported({"schema": {"properties": []}}).per_variant == frozenset()
