"""`hooke demo`: the verdict as printed, and the exit status that scripts rely on."""

import asyncio
import io
import json
import signal

import httpx
import pytest
from hooke.catalogue.expand import expand
from hooke.catalogue.validation import validate_experiment
from hooke.cli.document import read
from hooke.cli.verdict import COLUMNS, cells, show
from hooke_api.local.demonstration import EXAMPLE, Demonstration, Meter, remaining
from hooke_api.local.instance import StartError
from instances import ENDLESS, QUICK, processes, states, stored
from rich.console import Console

from tests.waiting import LIMIT, wait_for

SMALL = QUICK | {
    "name": "small",
    "variants": [
        {"name": "Sync SGD", "algorithm": "sync-sgd"},
        {"name": "Sync EASGD", "algorithm": "sync-easgd"},
    ],
    "clusters": [
        {"name": "local", "workers": [2], "seeds": 1},
        {"name": "lan", "computed_on": "local", "workers": [4], "seeds": 3, "virtual": {}},
    ],
}
WITHOUT_DATA = ENDLESS | {
    "workload": {"name": "text-transformer", "parameters": {"path": "nowhere.txt"}},
    "clusters": [{"name": "local", "workers": [1]}],
}
"""Agents look for the files of default parameters: that these are missing is known only to the run."""


def written(folder, document):
    path = folder / "spec.json"
    path.write_text(json.dumps({"schema": "hooke.experiment/1"} | document))
    return str(path)


def test_the_example_is_valid_and_is_what_was_promised():
    spec = validate_experiment(read(EXAMPLE))
    planned = expand(spec, {"local": 2})
    real, virtual = (
        [run for run in planned if (run.spec.world == "virtual") is simulated] for simulated in (False, True)
    )
    assert spec.baseline == "Original EASGD"
    assert len(spec.variants) == 5
    assert {run.seed for run in real} == set(range(7))
    assert {run.seed for run in virtual} == {0, 1, 2, 3, 4}
    assert {run.workers for run in real} == {2}
    assert {run.workers for run in virtual} == {8}


def test_it_ends_with_a_verdict_and_leaves_nothing(hooke, tmp_path):
    demo = hooke("demo", written(tmp_path, SMALL), "--exit", first=True)
    assert demo.process.wait(2 * LIMIT) == 0, demo.said()
    said = demo.said()
    assert "8/8 runs ended (8 succeeded)" in said
    real, simulated = said.index("local, 2 workers"), said.index("lan, 4 workers (simulated)")
    assert real < simulated
    assert said.count("Sync EASGD") >= 2
    assert "baseline" in said[real:simulated]
    assert said.count("\n• ") == 2, "one sentence for each group"
    assert processes(demo.home) == {}


def test_a_failed_run_is_told_and_makes_the_status_1(hooke, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    demo = hooke("demo", written(tmp_path, WITHOUT_DATA), "--exit")
    assert demo.process.wait(LIMIT) == 1, demo.said()
    assert "failed_user" in demo.said()


def test_an_experiment_that_is_refused_is_explained(hooke, tmp_path):
    wrong = QUICK | {"variants": [{"name": "Sync SGD", "algorithm": "sync-sgd", "parameters": {"lr": -1}}]}
    demo = hooke("demo", written(tmp_path, wrong), "--exit")
    assert demo.process.wait(LIMIT) == 1
    assert "/variants/0/parameters/lr" in demo.said()
    assert processes(demo.home) == {}


def test_leaving_before_the_verdict_cancels_the_experiment(hooke, tmp_path):
    demo = hooke("demo", written(tmp_path, ENDLESS))
    with demo.ready() as client:
        wait_for(lambda: "0/2 runs ended" in demo.said(), "the experiment")
        (experiment,) = (item["id"] for item in client.get("/experiments").json()["items"])
        wait_for(lambda: "running" in states(client, experiment), "a running run")
    assert demo.end(signal.SIGINT) == 130
    assert "Cancelling the experiment" in demo.said()
    assert processes(demo.home) == {}
    assert stored(demo.home, "SELECT state FROM runs") == [("cancelled",)] * 2
    began = stored(demo.home, "SELECT DISTINCT run_id FROM transitions WHERE state = 'running'")
    assert len(began) == 1, "what waited has not begun"


class Left:
    """What a demonstration asks of the platform when it is left."""

    hurried = False


@pytest.mark.parametrize("away", [0, 1, 3])
def test_leaving_asks_again_where_the_api_is_busy(away):
    """Its first requests time out; then it has cancelled, and the runs end a moment later."""
    asked = []

    def answer(request):
        asked.append(request.method)
        if len(asked) <= away:
            raise httpx.ReadTimeout("busy", request=request)
        return httpx.Response(200, json={"finished_at": "now" if asked.count("GET") > away + 1 else None})

    printed = io.StringIO()
    demonstration = Demonstration({}, Console(file=printed))

    async def leave():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://api") as client:
            await demonstration._cancel(client, "exp_1", Left())

    asyncio.run(leave())
    assert asked.count("POST") == away + 1
    assert printed.getvalue().startswith("Cancelling the experiment")
    assert "has not ended" not in printed.getvalue()


def test_who_hurries_does_not_wait_for_the_end():
    platform, printed = Left(), io.StringIO()

    def answer(request):
        platform.hurried = request.method == "GET"
        return httpx.Response(200, json={"finished_at": None})

    async def leave():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://api") as client:
            await Demonstration({}, Console(file=printed))._cancel(client, "exp_1", platform)

    asyncio.run(leave())
    assert "its runs may continue at the next start" in printed.getvalue().replace("\n", " ")


@pytest.mark.parametrize("text", ["- 1", "just words", ""])
def test_a_file_that_is_no_experiment_is_refused(tmp_path, text):
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    with pytest.raises(StartError, match="is not an experiment"):
        Demonstration.of(path)
    with pytest.raises(StartError, match=r"absent\.yaml: No such file"):
        Demonstration.of(tmp_path / "absent.yaml")


def estimate(mean, low=None, high=None):
    return {"mean": mean, "low": low, "high": high, "n": 3, "unit": ""}


def row(claim="faster", ratio=2.0, low=1.5, high=2.7, left_out=0, reached=3, median=1.234):
    bounds = {"ratio": ratio, "low": low, "high": high}
    return {
        "variant": "Sync EASGD",
        "runs": 3,
        "finished": 3,
        "time_to_target": {"median": median, "low": 1.1, "high": 1.3, "reached": reached, "n": 3, "unit": "s"},
        "speed_up": {**bounds, "pairs": 3, "censored": 0, "left_out": left_out, "claim": claim},
        "accuracy": estimate(0.956, 0.95, 0.962),
        "test_accuracy": estimate(0.941, 0.93, 0.952),
        "communication_fraction": estimate(0.31),
        "wire": estimate(1.5e6),
        "throughput": estimate(12345.6),
    }


def test_a_row_shows_figures_with_units_and_intervals():
    shown = dict(zip(COLUMNS, cells(row()), strict=True))
    assert shown == {
        "variant": "Sync EASGD",
        "runs": "3/3",
        "time to target": "1.23 s",
        "speed-up [95%]": "2.00x [1.50, 2.70]",
        "": "faster, n=3",
        "validation, test [95%]": "95.6% [95.0, 96.2]\n94.1% [93.0, 95.2]",
        "comm.": "31%",
        "sent": "1.5 MB",
        "samples/s": "12,346",
    }


@pytest.mark.parametrize(
    ("speed_up", "ratio", "claim"),
    [
        (("not shown", 1.1, 0.8, 1.5), "1.10x [0.80, 1.50]", "not shown, n=3"),
        (("not shown", 1.1, 0.8, None), "1.10x [0.80, -]", "not shown, n=3"),
        (("at least", 3.0, 2.0, None), ">= 2.00x", "faster, n=3"),
        (("at most", 0.5, None, 0.7), "<= 0.70x", "slower, n=3"),
        (("no claim", None, None, None), "-", "no claim, n=3"),
        (("faster", 1.2, 1.003, 1.4), "1.20x [1.003, 1.40]", "faster, n=3"),
        (("slower", 0.04, 0.0021, 0.9996), "0.04x [0.0021, 0.9996]", "slower, n=3"),
        (("at least", 3.0, 1.0002, None), ">= 1.0002x", "faster, n=3"),
        (("same", 1.0, 0.99, 1.02, 2), "1.00x [0.99, 1.02]", "practically the same, n=3 of 5"),
        (("baseline", 1.0, None, None), "-", "baseline"),
    ],
)
def test_a_speed_up_says_what_may_be_claimed(speed_up, ratio, claim):
    shown = cells(row(*speed_up))
    at = COLUMNS.index("speed-up [95%]")
    assert shown[at : at + 2] == [ratio, claim]


@pytest.mark.parametrize(
    ("given", "column", "text"),
    [
        (row(reached=2), "time to target", "1.23 s (2 of 3 seeds)"),
        (row(reached=0, median=None), "time to target", "0 of 3 seeds"),
        (row() | {"time_to_target": None}, "time to target", "-"),
        (row() | {"accuracy": estimate(None)}, "validation, test [95%]", "-\n94.1% [93.0, 95.2]"),
        (row() | {"wire": estimate(None)}, "sent", "-"),
    ],
)
def test_what_is_missing_is_said(given, column, text):
    assert dict(zip(COLUMNS, cells(given), strict=True))[column] == text


@pytest.mark.parametrize("width", [72, 160])
def test_no_figure_is_cut_off_however_narrow_the_terminal(width):
    out = io.StringIO()
    wide = {"cluster": "simulated-10gbe", "workers": 8, "simulated": True, "oversubscribed": False}
    show(
        Console(file=out, width=width),
        {
            "target": "97%",
            "note": "an old one",
            "baseline": "A",
            "rows": [row() | wide],
            "sentences": [],
            "across": [],
        }
        | {"tuning": "Settings are as given."},
    )
    shown = out.getvalue()
    assert "Settings are as given." in shown
    assert "…" not in shown
    assert "simulated-10gbe, 8 workers (simulated)" in shown
    assert "Note: an old one" in shown
    assert all(word in shown for word in ("2.00x", "95.6%", "12,346", "1.23"))
    assert max(map(len, shown.splitlines())) <= width


def test_progress_without_a_terminal_is_a_line_per_change():
    runs = [{"state": "running", "samples": 50, "budget": 100, "variant": "A", "seed": 0, "cluster": "local"}] * 2
    done = runs[0] | {"state": "succeeded"}
    out = io.StringIO()
    with Meter(Console(file=out, width=200)) as meter:
        for seen in (runs, runs, [done, runs[1]], [done, done]):
            meter.update(seen)
    first, second, third = out.getvalue().splitlines()
    assert first.startswith("0/2 runs ended (2 running)")
    assert second.startswith("1/2 runs ended (1 running, 1 succeeded)")
    assert third == "2/2 runs ended (2 succeeded)"


@pytest.mark.parametrize(
    ("shares", "words"),
    [([0, 0], ""), ([0.5, 0.5], "about 60 s left"), ([0.25, 0.25], "about 3 min left"), ([1, 1], "")],
)
def test_the_time_left_is_guessed_from_samples(shares, words):
    runs = [{"state": "running", "samples": share * 100, "budget": 100} for share in shares]
    assert remaining(runs, 60) == words
