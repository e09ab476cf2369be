"""From a file and options to one resolved run."""

import copy
from collections import Counter
from pathlib import Path

import pytest
from hooke.catalogue.expand import expand
from hooke.catalogue.validation import validate_experiment
from hooke.cli.document import load_run, read
from hooke.errors import ArgumentError, SpecError
from hooke.hardware.description import usable_cores
from hooke.spec.devices import factor_of
from hooke.spec.specification import VirtualCluster

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

RUN = {
    "schema": "hooke.run/1",
    "workload": {"name": "digits-mlp"},
    "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.2}},
    "workers": 3,
    "budget": {"samples": 1000},
    "evaluation": {"every": 100},
}
EXPERIMENT = {
    "schema": "hooke.experiment/1",
    "name": "two",
    "workload": {"name": "digits-mlp"},
    "variants": [
        {"name": "Sync SGD", "algorithm": "sync-sgd", "parameters": {"lr": 0.2}},
        {"name": "Alone", "algorithm": "sgd"},
    ],
    "baseline": "Sync SGD",
    "clusters": [
        {"name": "local", "workers": ["auto", 2], "seeds": 2},
        {"name": "sim", "computed_on": "local", "workers": [8], "seeds": 2, "virtual": {"latency": 0.5}},
    ],
    "first_seed": 7,
    "budget": {"samples": 1000},
    "evaluation": {"every": 100},
}


def test_a_run_is_taken_as_it_is():
    run = load_run(RUN)
    assert (run.workers, run.world, run.seed, run.virtual) == (3, "mpi", 0, None)
    assert run.algorithm.parameters == {"lr": 0.2}


def test_options_override():
    kept = copy.deepcopy(RUN)
    run = load_run(RUN, workers=5, seed=9, world="virtual")
    assert (run.workers, run.seed, run.world) == (5, 9, "virtual")
    assert run.virtual is not None
    assert kept == RUN, "the document was changed"
    back = load_run(RUN | {"world": "virtual", "virtual": {"latency": 0.1}}, world="mpi")
    assert (back.world, back.virtual) == ("mpi", None)
    assert load_run(RUN | {"virtual": {"latency": 0.1}}, world="virtual").virtual.latency == 0.1


def simulated(**virtual):
    return RUN | {"world": "virtual", "virtual": virtual}


@pytest.mark.parametrize(
    ("speeds", "later", "over"), [([3, 1], 0.5, 3), ([1, 0.25], 0.5, 1), ([0.7, 0.1], 7, 4.9)]
)
def test_for_real_workers_differ_as_the_simulated_ones_do(capsys, speeds, later, over):
    """At any time as fast as these, over what makes none of them faster than it can be."""
    changes = [{"worker": 2, "at": 4, "over": 2, "speed": later}]
    document = simulated(speeds=speeds, speed_changes=changes, straggling=0.1, straggling_factor=4)
    run, cluster = load_run(document, world="mpi"), VirtualCluster.model_validate(document["virtual"])
    assert (run.world, run.virtual, len(run.groups)) == ("mpi", None, 3)
    for worker in range(3):
        group = run.group(worker)
        assert (group.kind, group.straggling, group.straggling_factor) == ("cpu", 0.1, 4)
        for seconds in (0, 5, 6):
            own = group.speed * factor_of(group.changes, seconds)
            assert own == pytest.approx(cluster.speed(worker, seconds) / over)
    assert (f"the simulated ones over {over:g}" in capsys.readouterr().err) == (over > 1)


def test_for_real_a_virtual_device_is_one_of_the_machine(capsys):
    kinds = [{"kind": "v100", "count": 2}, {"kind": "cpu-28"}]
    run = load_run(simulated(devices=kinds), world="mpi")
    assert [(group.kind, group.count) for group in run.groups] == [("cuda", 2), ("cpu", 1)]
    assert "v100 becomes cuda, cpu-28 becomes cpu, without the assumed speed" in capsys.readouterr().err
    slowed = load_run(simulated(speeds=[1, 0.5, 1]) | {"compute": {"device": "cuda"}}, world="mpi")
    assert [(group.kind, group.speed) for group in slowed.groups] == [("cuda", 1), ("cuda", 0.5), ("cuda", 1)]
    assert load_run(simulated(latency=0.5), world="mpi").groups == ()
    assert load_run(RUN | {"virtual": {"speeds": [1, 0.5]}}, world="mpi").groups == (), "it was real already"


@pytest.mark.parametrize(
    ("virtual", "pointer"),
    [
        ({"latency": -1}, "/virtual/latency"),
        (
            {
                "devices": [{"kind": "cpu", "count": 3, "changes": [{"at": 1, "speed": 0.5}]}],
                "speed_changes": [{"at": 2, "speed": 0.5}],
            },
            "/virtual/speed_changes",
        ),
    ],
)
def test_simulated_workers_that_real_ones_cannot_follow_are_refused(virtual, pointer):
    with pytest.raises(SpecError) as refused:
        load_run(simulated(**virtual), world="mpi")
    assert [fault.pointer for fault in refused.value.faults] == [pointer]


def test_a_cell_of_an_experiment():
    local = load_run(EXPERIMENT, variant="Sync SGD")
    assert (local.world, local.workers, local.seed) == ("mpi", min(4, usable_cores()), 7)
    for simulated in (
        load_run(EXPERIMENT, variant="Sync SGD", world="virtual"),
        load_run(EXPERIMENT, variant="Sync SGD", cluster="sim"),
    ):
        assert (simulated.world, simulated.workers, simulated.virtual.latency) == ("virtual", 8, 0.5)
    assert load_run(EXPERIMENT, variant="Alone", cluster="sim").workers == 1
    only = EXPERIMENT | {"clusters": EXPERIMENT["clusters"][:1]}
    default = load_run(only, variant="Sync SGD", world="virtual", workers=4)
    assert (default.world, default.workers, default.virtual.latency) == ("virtual", 4, 7.2e-6)


@pytest.mark.parametrize(
    ("document", "options", "pointers"),
    [
        (RUN, {"workers": 0}, ["/workers"]),
        (RUN, {"seed": -1}, ["/seed"]),
        (RUN | {"compute": {"threads": 0}}, {}, ["/compute/threads"]),
        (RUN, {"variant": "x"}, ["/schema"]),
        (RUN | {"algorithm": {"name": "nope"}, "workload": {"name": "none"}}, {},
         ["/workload/name", "/algorithm/name"]),
        (RUN | {"algorithm": {"name": "sync-easgd", "parameters": {"rho": -1, "lrr": 1}}}, {},
         ["/algorithm/parameters/rho", "/algorithm/parameters/lrr"]),
        (RUN | {"algorithm": {"name": "sgd"}}, {}, ["/workers"]),
        (EXPERIMENT, {}, ["/variants"]),
        (EXPERIMENT, {"variant": "Nobody"}, ["/variants"]),
        (EXPERIMENT, {"variant": "Alone", "cluster": "moon"}, ["/clusters"]),
        (EXPERIMENT | {"baseline": "Nobody"}, {"variant": "Alone"}, ["/baseline"]),
        ({"schema": "hooke.run/2"}, {}, ["/schema"]),
        ([1, 2], {}, [""]),
        (None, {}, [""]),
        ("text", {}, [""]),
    ],
)  # fmt: skip
def test_faults_carry_pointers(document, options, pointers):
    with pytest.raises(SpecError) as caught:
        load_run(document, **options)
    assert [problem.pointer for problem in caught.value.faults] == pointers


@pytest.mark.parametrize(
    "content", [b"a: [1", b"\xff\xfe\x00a", b"key: value: other", b"!!python/object:os.x {}", b"a: " + b"9" * 5000]
)
def test_broken_files(tmp_path, content):
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match="is not YAML"):
        read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1\n", r"line 2, column 1: found character '\\t'.*: indent with blanks, not with tabs$"),
        ("a:\n  b: 1\n c: 2\n", r"line 3, column 2: expected <block end>.*: check the indentation of this line"),
        ("name: my: run\n", r"line 1, column 9: mapping values are not allowed here: .* quote a text"),
        ("name: x\nworkload\nbatch: 1\n", r"line 3, column 1: could not find expected ':': write `key: value`"),
        ("a: &x [*x, " + "[" * 5000, "is not YAML"),
    ],
)
def test_mistakes_of_form_are_told_with_their_place_and_what_to_do(tmp_path, text, said):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=said):
        read(path)


def test_marks_and_ends_of_lines_of_other_systems_are_read(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: \xc3\xbc\r\nbatch: 2\r\n")
    assert read(path) == {"name": "ü", "batch": 2}


def test_a_key_twice_is_refused_with_its_place(tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("workers: 2\nbudget: {samples: 10, samples: 20}\n")
    with pytest.raises(ArgumentError, match=r"line 2, column 23: found the key 'samples' twice: keep one of them"):
        read(path)


def test_numbers_are_those_of_yaml_1_2(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("lr: 1e-5\non: local\nday: 2026-01-02\n")
    assert read(path) == {"lr": 1e-5, "on": "local", "day": "2026-01-02"}


def test_json_is_yaml(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"schema": "hooke.run/1", "workers": 2}')
    assert read(path) == {"schema": "hooke.run/1", "workers": 2}
    path.write_text('{\n\t"schema": "hooke.run/1",\n\t"workers": 2\n}\n')
    assert read(path) == {"schema": "hooke.run/1", "workers": 2}, "JSON may be indented by tabs"
    path.write_text('{"workers": 2, "workers": 3}')
    with pytest.raises(ArgumentError, match="'workers' twice"):
        read(path)


@pytest.mark.parametrize("document", [RUN, EXPERIMENT | {"variants": EXPERIMENT["variants"][:1]}])
def test_the_schema_follows_from_the_document(document):
    """As in what is submitted."""
    assert load_run({key: value for key, value in document.items() if key != "schema"}) == load_run(document)


@pytest.mark.parametrize("name", ["digits-mlp", "mnist-lenet"])
def test_example_runs_are_valid(name):
    run = load_run(read(EXAMPLES / f"{name}.yaml"))
    assert (run.workload.name, run.workers, run.world) == (name, 2, "mpi")


def test_the_example_comparison_is_what_it_says():
    document = read(EXAMPLES / "comparison.yaml")
    plan = expand(validate_experiment(document), {"local": 2})
    assert Counter(run.cluster for run in plan) == {"local": 35, "simulated-10gbe": 25}
    assert len({run.variant for run in plan}) == 5
    for variant in document["variants"]:
        assert load_run(document, variant=variant["name"]).workers == min(4, usable_cores())
