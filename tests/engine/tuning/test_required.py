"""A parameter without a default is given by trials, or by the variant; by nothing, it is missed."""

from typing import ClassVar

import pytest
from hooke.algorithms.sync_sgd import SyncSGD
from hooke.catalogue.offers import Catalogue, ClassAlgorithmOffer, here
from hooke.catalogue.validation import validate_experiment
from hooke.errors import SpecError
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.tuning.plan import Plan
from hooke.tuning.settings import free_spaces
from pydantic import Field

from tests.engine.tuning.test_plan import CORES
from tests.engine.tuning.test_search import DOCUMENT


class Needing(SyncSGD):
    """A method with a parameter that has no default."""

    strength: float = Field(gt=0, title="Strength")
    search: ClassVar = {"strength": Space(low=0.1, high=10, scale="log")}


CATALOGUES = {"local": Catalogue({"needing": ClassAlgorithmOffer(Needing)}, here().workloads)}


def document(**more):
    return DOCUMENT | {"variants": [{"name": "needing", "algorithm": "needing"} | more], "baseline": "needing"}


def test_trials_give_it_values():
    spec = validate_experiment(document() | {"tuning": {"trials": 5}}, CATALOGUES)
    found = Plan(spec, CORES, CATALOGUES).settings["needing", "local", 2]
    assert len({setting["strength"] for setting in found}) == 5
    assert all(0.1 <= setting["strength"] <= 10 for setting in found)
    assert all(set(setting) == set(Needing.model_fields) for setting in found), "defaults included"


@pytest.mark.parametrize(
    ("more", "tuning", "place"),
    [
        ({}, None, "/variants/0/parameters/strength"),
        ({"search": {"strength": None}}, {"trials": 5}, "/variants/0/parameters/strength"),
        ({"parameters": {"strength": -1}}, {"trials": 5}, "/variants/0/parameters/strength"),
        ({"search": {"momentum": None, "speed": None}}, {"trials": 5}, "/variants/0/search/speed"),
    ],
)
def test_without_a_value_it_is_missed(more, tuning, place):
    with pytest.raises(SpecError) as caught:
        validate_experiment(document(**more) | {"tuning": tuning}, CATALOGUES)
    assert [fault.pointer for fault in caught.value.faults] == [place]


def test_conditions_hold_for_the_defaults_of_its_other_parameters():
    """Else it would be tuned less than a method without such a parameter."""
    offer = ClassAlgorithmOffer(Needing)
    variant = Variant(name="needing", algorithm="needing")
    assert free_spaces(variant, offer).keys() >= {"lr", "momentum", "momentum_kind", "strength"}
    given = variant.model_copy(update={"parameters": {"strength": 1.0}})
    assert free_spaces(given, offer).keys() == free_spaces(variant, offer).keys() - {"strength"}
