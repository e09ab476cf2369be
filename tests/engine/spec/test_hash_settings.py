"""Hash functions of a wide output layer: what a specification may ask for is what a run can build."""

import numpy as np
import pytest
from hooke.catalogue.expand import expand
from hooke.catalogue.joined import offer_of
from hooke.catalogue.offers import here
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.errors import ArgumentError, SpecError
from hooke.hashing.families import FAMILIES, make_family
from hooke.hashing.sizes import BITS, most_hashes
from hooke.tuning.settings import settings
from hooke.workloads.xmlc_mlp import XmlcMlp
from pydantic import ValidationError

SMALL = {"labels": 50, "features": 40, "items": 100, "hidden": 8, "tables": 3, "active": 20}
WIDE = {"name": "xmlc-mlp", "parameters": {"labels": 2000}}


def experiment(search=None, **asked):
    variant = {"name": "hashed", "algorithm": "sgd", "workload_settings": {"output": "slide", **asked}}
    document = {
        "name": "hash functions",
        "workload": {"name": "xmlc-mlp", "parameters": SMALL},
        "variants": [{"name": "full", "algorithm": "sgd"}, variant | ({"search": search} if search else {})],
        "baseline": "full",
        "clusters": [{"name": "local", "workers": [1], "seeds": 1}],
        "budget": {"samples": 100},
        "evaluation": {"every": 50},
    }
    return document | ({"tuning": {"trials": 12, "seeds": 1, "samples": 100}} if search else {})


def faults(document):
    with pytest.raises(SpecError) as refused:
        validate_experiment(document)
    return {fault.pointer: fault.message for fault in refused.value.faults}


def test_sizes_are_known_of_every_family():
    assert BITS.keys() == FAMILIES.keys()
    assert all(make_family(name, 8, 1, 1).bits == bits for name, bits in BITS.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_specification_takes_as_many_hashes_as_the_family_and_no_more(family):
    most = most_hashes(family)
    assert make_family(family, 8, most, 1).bits <= 24
    with pytest.raises(ArgumentError, match="lower K"):
        make_family(family, 8, most + 1, 1)
    validate_experiment(experiment(hash_family=family, hashes=most))
    found = faults(experiment(hash_family=family, hashes=most + 1))
    assert list(found) == ["/variants/1/workload_settings/hashes"]
    assert "less than or equal to 24" in str(found) or f"give at most {most}" in str(found)


@pytest.mark.parametrize(("family", "usual"), [("simhash", 9), ("wta", 4), ("dwta", 4), ("minhash", 4)])
@pytest.mark.parametrize("sets", ["batch", "item"])
def test_where_none_is_given_every_family_has_hashes_that_it_can_have(family, usual, sets):
    document = experiment(hash_family=family, sets=sets)
    run = next(run.spec for run in expand(validate_experiment(document), {"local": 1}) if run.variant == "hashed")
    assert validate_run(run.model_dump(mode="json", by_alias=True)) == run
    objective = XmlcMlp.model_validate(run.workload_parameters).build()
    assert objective.layer.family.bits == usual * BITS[family]
    assert np.isfinite(objective.gradient(objective.pick([0, 1])))


def test_hashes_are_told_of_a_workload_too():
    document = experiment()
    document["workload"] = {"name": "xmlc-mlp", "parameters": SMALL | {"output": "slide", "hash_family": "dwta"}}
    validate_experiment(document)
    document["workload"]["parameters"] |= {"hashes": 9}
    assert "9 hashes of dwta make bucket ids of 27 bits" in faults(document)["/workload/parameters/hashes"]


def test_a_winner_needs_units_to_compare():
    document = experiment(hash_family="dwta")
    document["workload"] = {"name": "xmlc-mlp", "parameters": SMALL | {"hidden": 7}}
    assert (
        "compares 8 hidden units, and there are 7" in faults(document)["/variants/1/workload_settings/hash_family"]
    )


def test_stored_settings_of_other_layers_are_read():
    """Hashes count only where there are tables; a run that was planned before has its number written out."""
    assert XmlcMlp(output="full", hash_family="dwta", hashes=9).hashes == 9
    assert XmlcMlp(output="slide", hash_family="simhash", hashes=9).hashes == 9
    with pytest.raises(ValidationError, match="give at most 8"):
        XmlcMlp(output="slide", hash_family="dwta", hashes=9)


HASHES = {"low": 3, "high": 14, "integer": True}


def test_a_space_of_one_family_is_refused_where_it_cannot_have_all_of_it():
    found = faults(experiment({"workload.hashes": HASHES}, hash_family="dwta"))
    assert "give at most 8" in found["/variants/1/search/workload.hashes"]


@pytest.mark.parametrize("when", [{}, {"when": {"workload.hash_family": ["simhash"]}}])
def test_a_search_over_families_tries_hashes_that_each_can_have(when):
    search = {"workload.hash_family": {"choices": ["simhash", "dwta"]}, "workload.hashes": HASHES | when}
    spec = validate_experiment(experiment(search))
    offered, variant = here(), spec.variants[1]
    offer = offer_of(variant, offered.algorithms["sgd"], offered.workloads["xmlc-mlp"], spec.workload)
    found = settings(12, variant, offer, 1)
    tried = {(each["workload.hash_family"], each.get("workload.hashes")) for each in found}
    assert len(found) == 12 and {family for family, _ in tried} == {"simhash", "dwta"}
    most = max(hashes or 0 for family, hashes in tried if family == "dwta")
    assert most <= (0 if when else 8) and max(hashes for family, hashes in tried if family == "simhash") > 8


def test_declared_spaces_are_those_of_the_family():
    def declared(**given):
        return XmlcMlp.spaces_at(XmlcMlp(output="slide", **given).model_dump())["hashes"]

    for family in FAMILIES:
        space = declared(hash_family=family)
        for share in (0.0, 0.999):
            XmlcMlp(output="slide", hash_family=family, hashes=space.at(share))
    assert (declared().low, declared().high) == (7, 14)
    assert (declared(hash_family="dwta").low, declared(hash_family="dwta").high) == (3, 6)
    assert XmlcMlp.spaces_at(XmlcMlp().model_dump()) == {}


def test_the_size_of_a_set_has_a_space_where_there_is_a_set():
    """The schema says all of them with their conditions: from it the form, and a server, know them."""
    sampled, sets = XmlcMlp.model_json_schema()["properties"]["active"]["search"]
    assert (sampled.pop("when"), sets.pop("when")) == (
        {"output": ["sampled"]},
        {"output": ["random-active", "slide"], "sets": ["batch"]},
    )
    outputs = {"sampled": sampled, "random-active": sets, "slide": sets}
    for output in ("full", "in-batch", *outputs):
        space = XmlcMlp.spaces_at(XmlcMlp(output=output).model_dump()).get("active")
        expected = outputs.get(output)
        assert (space and space.model_dump(exclude_defaults=True, exclude={"when"})) == expected
    assert "active" not in XmlcMlp.spaces_at(XmlcMlp(output="slide", sets="item").model_dump())
    assert "search" not in XmlcMlp.model_json_schema()["properties"]["labels"]
    validate_experiment(experiment({"workload.active": sets}) | {"workload": WIDE})
