"""`submit` of a comparison in a program, to a real API: it makes the experiment that the program compared."""

import hooke
import pytest
from hooke.errors import ArgumentError

from tests.api.databases import ONE_KIND

SMALL = {"workers": 2, "seeds": 2, "samples": 320, "evaluate_every": 160, "batch": 16, "progress": False}
METHODS = {"sync-sgd": {"lr": 0.1}, "local-sgd": {"lr": 0.1, "period": 4}}


@pytest.fixture(scope="module")
def found():
    return hooke.compare(METHODS, workload="digits-mlp", seconds_per_sample=2e-5, trials=2, **SMALL)


@ONE_KIND
def test_the_server_has_the_experiment_of_the_program(service, found):
    service.hello()
    address = found.submit(service.url, service.settings.token)
    base, _, number = address.rpartition("/experiments/")
    assert base == service.url
    made = service.get(f"/experiments/{number}")["spec"]
    wanted = found.specification.model_dump(mode="json", by_alias=True)
    assert made["clusters"][0]["computed_on"] == "local"
    for place in (*made["clusters"], *wanted["clusters"]):
        place.pop("computed_on", None)
    assert made == wanted


@ONE_KIND
def test_the_server_refuses_in_the_words_of_its_validator(service, found):
    with pytest.raises(ArgumentError, match="the server refused the experiment: .*cluster"):
        found.submit(service.url, service.settings.token, cluster="nowhere")
    with pytest.raises(ArgumentError, match="the server refused the experiment: .*token"):
        found.submit(service.url, "not-the-token")
