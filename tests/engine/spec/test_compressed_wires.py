"""Compressed wires in documents: what is refused, and what keeps its fingerprint."""

import pytest
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.errors import SpecError
from hooke.spec.specification import canonical

from tests.engine.spec.documents import experiment, run

TOP_K = {"wire": "top-k", "wire_share": 0.1}


def variant(algorithm="sync-sgd", **communication):
    return experiment(variants=[{"name": "sync", "algorithm": algorithm, "communication": TOP_K | communication}])


def refused(validate, document):
    with pytest.raises(SpecError) as caught:
        validate(document)
    return {fault.pointer: fault.message for fault in caught.value.faults}


def test_a_document_without_a_share_keeps_its_fingerprint():
    assert "wire_share" not in canonical(validate_experiment(experiment()))
    assert '"wire_share":0.1' in canonical(validate_experiment(variant()))


@pytest.mark.parametrize("share", [0, 1.5, -1])
def test_a_share_is_a_part(share):
    assert set(refused(validate_experiment, variant(wire_share=share))) == {"/variants/0/communication/wire_share"}


@pytest.mark.parametrize("wire", ["sign", "top-k"])
def test_wires_that_would_destroy_weights_are_refused(wire):
    told = refused(validate_experiment, variant("sparta", wire=wire))
    assert f"what {wire} takes of them would be lost: choose int8" in told["/variants/0/communication/wire"]
    told = refused(validate_run, run(algorithm={"name": "sparta"}, communication={"wire": wire}))
    assert f"what {wire} takes of them would be lost: choose int8" in told["/communication/wire"]
    validate_experiment(variant("sparta", wire="int8"))
    assert "takes of them" in refused(validate_experiment, variant("powersgd", wire=wire)).popitem()[1]
    assert "itself: choose fp32" in refused(validate_experiment, variant("demo", wire=wire)).popitem()[1]


def test_the_librarys_sum_cannot_be_compressed():
    told = refused(validate_experiment, variant(collective="library"))
    assert "cannot add top-k" in told["/variants/0/communication/wire"]
