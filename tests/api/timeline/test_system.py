"""Samples as rates: known counters, gaps, and what is left of them over HTTP."""

import csv
import io
import json

import pytest
from hooke.spec.events import RankRecords
from hooke.spec.files import compressed, packed
from hooke_api.models import Attempt, Run
from hooke_api.storage import files
from hooke_api.storage.energy import sample_of, summed
from hooke_api.timeline.system import rates, thinned

from tests.api.databases import ONE_KIND
from tests.api.hands import start


def test_a_rate_is_the_increase_since_the_sample_before():
    assert rates([0, 5, 15], [10.0, 20.0, 25.0]) == [None, 2.0, 0.5]
    assert rates([0, 5, 10, 15], [1.0, None, 3.0, 2.0]) == [None, None, None, None], "missing, missing, began anew"
    assert rates([0, 0], [1.0, 2.0]) == [None, None]
    assert rates([], []) == [None]


def test_thinning_keeps_both_ends_and_the_mean_rate():
    found = thinned([{"unix": i} for i in range(1001)], 11)
    assert [sample["unix"] for sample in found] == [100 * i for i in range(11)]
    assert thinned(found, 11) == found


def sample(unix, **more):
    ranks = {"0": [unix / 2, 1e6 + unix], "1": [unix, 2e6]}
    return {"unix": 1000 + unix, "host": "node", "ranks": ranks, "network": [unix * 100, unix * 10]} | more


def lines(*samples):
    return b"".join(json.dumps(each).encode() + b"\n" for each in samples)


@ONE_KIND
def test_samples_of_a_run(service):
    supervisor = service.launch()
    nothing = service.get(f"/runs/{supervisor.id}/system")
    assert (nothing["at"], nothing["processes"], nothing["host"]) == ([], [], None)
    supervisor.send(RankRecords(rank=0, records=[start()]), RankRecords(rank=1, records=[start(host="far")]))
    content = lines(sample(0), sample(5), {"unix": "?"}, sample(10, joules=50.0), sample(20, joules=250.0))
    supervisor.send(files=[packed("system", 0, content + b'{"unix": 30, "ho')])
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["began"] == 1000
    assert found["at"] == [0, 5, 10, 20]
    cpu = {each["rank"]: each["cpu"] for each in found["processes"]}
    assert cpu == {0: [None, *[pytest.approx(0.5)] * 3], 1: [None, *[pytest.approx(1.0)] * 3]}
    assert found["processes"][0]["memory"] == [1e6, 1e6 + 5, 1e6 + 10, 1e6 + 20]
    assert found["host"]["received"][1:] == pytest.approx([100] * 3)
    assert found["host"]["sent"][1:] == pytest.approx([10] * 3)
    assert found["host"]["power"] == [None, None, None, 20.0]
    for name in ("gpu", "gpu_memory", "gpu_power"):
        assert found["host"][name] == [None] * 4
    assert found["elsewhere"] == [1]
    assert len(service.get(f"/runs/{supervisor.id}/system", points=16)["at"]) == 4


def energy(unix, joules, **more):
    return sample(unix, joules=joules, since=float(unix), **more)


@ONE_KIND
def test_energy_is_that_of_the_last_sample(service):
    supervisor = service.launch()
    assert service.run(supervisor.id)["energy_j"] is None
    supervisor.tell("starting", "running")
    supervisor.send(files=[packed("system", 0, lines(energy(0, 0), energy(10, 900.5, own=0.97)))])
    run = service.run(supervisor.id)
    assert (run["energy_j"], run["energy_seconds"], run["energy_note"]) == (900.5, 10, "so far")
    content = lines(energy(0, 0), energy(10, 900.5, own=0.97))
    last = lines(energy(12, 1000.25, own=0.97, ranks={}, last=True))
    cut = last[:30]
    supervisor.send(files=[packed("system", len(content), cut)])  # what is whole counts
    assert service.run(supervisor.id)["energy_j"] == 900.5
    supervisor.send(files=[packed("system", len(content) + len(cut), last[30:])])
    supervisor.report("succeeded")
    run = service.run(supervisor.id)
    assert (run["energy_j"], run["energy_seconds"], run["energy_note"]) == (1000.25, 12, "")
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["energy"] == {"joules": 1000.25, "seconds": 12, "note": ""}
    assert found["at"] == [0, 10, 12]
    (row,) = service.runs(energy=True)
    assert (row["energy_j"], row["energy_note"]) == (1000.25, "")
    assert service.runs()[0]["energy_j"] is None, "only where it is asked for"
    (row,) = csv.DictReader(io.StringIO(service.client.get("/runs.csv").text))
    assert (row["energy_j"], row["energy_note"]) == ("1000.25", "")
    (row,) = service.get(f"/experiments/{run['experiment_id']}/comparison")["rows"]
    assert (row["energy"]["mean"], row["energy"]["unit"], row["energy"]["n"]) == (1000.25, "J", 1)
    assert row["energy_shared"] == 0


@ONE_KIND
def test_the_energy_of_the_gpus_that_ranks_used_is_part_of_it(service):
    supervisor = service.launch()
    supervisor.tell("starting", "running")
    used = {"gpu": 0.5, "gpu_memory": 2.0**30}
    content = lines(energy(0, 0, gpu_joules=0, **used), energy(10, 900.5, own=0.97, gpu_joules=4000.0, **used))
    supervisor.send(files=[packed("system", 0, content)])
    run = service.run(supervisor.id)
    assert (run["energy_j"], run["energy_note"]) == (4900.5, "its GPUs used 4,000 J of it; so far")
    host = service.get(f"/runs/{supervisor.id}/system")["host"]
    assert (host["gpu"], host["gpu_memory"], host["gpu_power"]) == ([0.5] * 2, [2.0**30] * 2, [None, 400.0])


@ONE_KIND
def test_energy_that_is_not_known_says_why_and_enters_no_comparison(service):
    supervisor = service.launch()
    why = "not readable here: permission denied on /sys/class/powercap/intel-rapl:0/energy_uj"
    supervisor.tell("starting", "running")
    supervisor.send(
        files=[packed("system", 0, lines(sample(0, no_joules=why), sample(5, no_joules=why, last=True)))]
    )
    supervisor.report("succeeded")
    run = service.run(supervisor.id)
    assert (run["energy_j"], run["energy_note"]) == (None, why)
    (row,) = service.runs(energy=True)
    assert (row["energy_j"], row["energy_note"]) == (None, why)
    (row,) = service.get(f"/experiments/{run['experiment_id']}/comparison")["rows"]
    assert (row["energy"]["mean"], row["energy"]["n"]) == (None, 0)


def told(joules, since=10.0, own=0.95, last=True, lacking=""):
    return {"joules": joules, "since": since, "own": own, "last": last, "lacking": lacking}


def test_energy_over_attempts_and_marks():
    found = summed([told(100.0), told(50.0, since=2.5)], ended=True)
    assert (found.joules, found.seconds, found.note, found.shared) == (150, 12.5, "of 2 attempts", False)
    crowded = summed([told(100.0, own=0.25)], ended=True)
    assert (crowded.shared, crowded.final) == (True, 100)
    assert crowded.note == "shared: of the processor time used meanwhile, its ranks used 25%"
    assert summed([told(1.0)], ended=True, overlap="paper").note == "shared with a run on paper"
    lost = summed([told(1.0, last=False)], ended=True)
    assert (lost.note, lost.final) == ("not to its end: its supervisor was ended", None)
    assert summed([None, told(1.0)], ended=True).joules is None
    assert summed([told(0.0, lacking="no counter"), told(1.0)], ended=True).note == "no counter"
    for samples, joules, note in (
        ([told(1.0) | {"gpus": (n, "")} for n in (2.0, 3.0)], 7, "its GPUs used 5 J of it; of 2 attempts"),
        ([told(0.0, lacking="no counter") | {"gpus": (2.0, "")}], None, "no counter; its GPUs used 2 J"),
        ([told(1.0) | {"gpus": (0.0, "no driver")}], None, "GPUs: no driver"),
    ):
        found = summed(samples, ended=True)
        assert (found.joules, found.note) == (joules, note)


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b'{"ranks": {}, "joules": -1, "since": 5}',
        b'{"ranks": {}, "joules": 1e999, "since": 5}',
        b'{"ranks": {}, "joules": 5}',  # an older agent: counted since the start of the host
    ],
)
def test_samples_without_a_figure(line):
    found = sample_of(line + b"\n")
    assert found is None or found["lacking"]


def test_a_share_beyond_its_limits_and_text_that_cannot_be_stored(service):
    assert sample_of(b'{"ranks": {}, "joules": 5, "since": 1, "own": 7}')["own"] is None
    supervisor = service.launch()
    hostile = {"no_joules": "\ud800\x00" + 1000 * "x"}
    supervisor.send(files=[packed("system", 0, lines(sample(0, **hostile), sample(5, **hostile)))])
    assert len(service.run(supervisor.id)["energy_note"]) == 300
    assert service.get(f"/runs/{supervisor.id}/system")["energy"]["joules"] is None


@ONE_KIND
def test_a_run_that_went_on_from_a_checkpoint_has_the_energy_of_both_attempts(service):
    supervisor = service.launch()
    with service.database.write() as session:
        run = session.get_one(Run, supervisor.id)
        run.attempt = 2
        session.add(Attempt(run_id=run.id, number=2, created_at=run.created_at, restored_step=7))
        for attempt, joules in ((1, 40.0), (2, 2.0)):
            part = packed("system", 0, lines(energy(5, joules, ranks={}, last=True)))
            files.append(session, run.id, attempt, [(part, compressed(part))], 10**6)
    assert service.run(supervisor.id)["energy_j"] == 42
    with service.database.write() as session:
        session.get_one(Attempt, (supervisor.id, 2)).restored_step = None  # it began anew
    assert service.run(supervisor.id)["energy_j"] == 2


@ONE_KIND
def test_of_a_virtual_run_only_the_process(service):
    virtual = {"clusters": [{"name": "v", "computed_on": "local", "workers": [2], "seeds": 1, "virtual": {}}]}
    supervisor = service.launch(**virtual)
    supervisor.send(files=[packed("system", 0, lines(energy(0, 0.0), energy(5, 10.0, last=True)))])
    found = service.get(f"/runs/{supervisor.id}/system")
    assert found["simulated"] is True
    assert found["host"] is None
    assert found["energy"] is None
    assert service.run(supervisor.id)["energy_j"] is None
    assert len(found["processes"]) == 2
