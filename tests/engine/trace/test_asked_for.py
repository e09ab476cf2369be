"""A specification that asks for the timeline: who writes it, and what that changes."""

from hooke.catalogue.expand import resolve
from hooke.catalogue.validation import validate_experiment, validate_run
from hooke.loop.train import run_spec_virtual, trace_of
from hooke.spec.specification import canonical, fingerprint
from hooke.trace.reading import parse, read
from hooke.trace.recording import BUFFER, DELIVERED_LIMIT, LIMIT
from hooke.trace.records import file_of

from tests.engine.trace.cases import RANKS, spec_of

EXPERIMENT = {
    "name": "x",
    "workload": {"name": "digits-mlp"},
    "variants": [{"name": "a", "algorithm": "sync-sgd"}],
    "baseline": "a",
    "clusters": [{"name": "local", "workers": [2]}],
    "budget": {"samples": 64},
    "evaluation": {"every": 64},
}


def test_documents_without_it_keep_their_fingerprint():
    run = spec_of("synchronous", "virtual")
    assert "trace" not in canonical(run)
    assert fingerprint(validate_run({**run.model_dump(by_alias=True), "trace": False})) == fingerprint(run)
    assert fingerprint(validate_run({**run.model_dump(by_alias=True), "trace": True})) != fingerprint(run)


def test_every_run_of_an_experiment_gets_it():
    for trace in (False, True):
        spec = validate_experiment(EXPERIMENT | {"trace": trace})
        assert resolve(spec, spec.variants[0], spec.clusters[0], 2, 0).trace is trace


def test_the_limit_is_that_of_what_is_delivered(tmp_path):
    for trace, limit in ((False, LIMIT), (True, DELIVERED_LIMIT)):
        spec = spec_of("synchronous", "virtual", trace=trace)
        assert trace_of(tmp_path, spec, 0)._left == limit // RANKS
    assert BUFFER < DELIVERED_LIMIT < LIMIT


def test_a_virtual_run_writes_it_and_nobody_else_does(tmp_path):
    for trace in (False, True):
        folder = tmp_path / str(trace)
        folder.mkdir()
        run_spec_virtual(spec_of("synchronous", "virtual", trace=trace), folder)
        found = [file_of(folder, rank).exists() for rank in range(RANKS)]
        assert found == [trace] * RANKS


def test_parse_reads_what_read_reads(traced):
    path = file_of(traced("synchronous", "virtual").folder, 0)
    assert parse(path.read_bytes(), "x") == read(path)
