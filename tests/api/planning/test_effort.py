"""What a comparison says about variants that were not tuned alike, or not at all."""

import pytest

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor
from tests.api.planning.test_tuning import TUNED, by_rate, play, reported, trials

pytestmark = ONE_KIND

FIXED = {"lr": 0.2, "momentum": 0.0, "momentum_kind": "heavy-ball", "period": 4}


def compared(service, experiment):
    found = service.get(f"/experiments/{experiment}/comparison")
    return found, [*found["sentences"], *(row["speed_up"]["sentence"] for row in found["rows"])]


def test_a_sequential_method_is_not_missed_where_it_never_was(service):
    """It runs on one worker; on two, nothing of it was searched, so nothing is said about its trials."""
    variants = [*TUNED["variants"], {"name": "alone", "algorithm": "sgd"}]
    experiment = service.submit(**TUNED | {"variants": variants})["id"]
    play(service, by_rate)
    assert {run["workers"] for run in reported(service) if run["variant"] == "alone"} == {1}
    _, sentences = compared(service, experiment)
    assert not any("none of its trials" in sentence for sentence in sentences)


def test_without_a_target_fewer_trials_make_no_claim_either(service):
    variants = [TUNED["variants"][0], TUNED["variants"][1] | {"parameters": FIXED}]
    experiment = service.submit(**TUNED | {"variants": variants, "target": None})["id"]
    play(service, by_rate)
    _, sentences = compared(service, experiment)
    assert len(sentences) == 3
    assert all("unequal tuning: 8 trials, but 1 of local" in sentence for sentence in sentences[:2])
    assert not any("points" in sentence or "throughput" in sentence for sentence in sentences)


def test_the_same_setting_again_and_again_is_one_trial(service):
    search = {name: {"choices": [value]} for name, value in FIXED.items()}
    variants = [TUNED["variants"][0], {"name": "local", "algorithm": "local-sgd", "search": search}]
    experiment = service.submit(**TUNED | {"variants": variants})["id"]
    assert sum(run["variant"] == "local" for run in trials(service)) == 1
    play(service, by_rate)
    comparison, _ = compared(service, experiment)
    assert {row["speed_up"]["claim"] for row in comparison["rows"]} == {"baseline", "no claim"}


def play_one(service, fault):
    """Let the first trial of `sync` end by a fault, and play all others."""
    service.scheduler.look()
    order, *_ = (order for _, orders in service.line.launched for order in orders)
    assert service.run(order.run)["variant"] == "sync"
    fault(Supervisor(service, order))
    play(service, by_rate)


def refused(supervisor):
    supervisor.report("starting")
    supervisor.report("failed_user", exit_code=3)


def cancelled(supervisor):
    assert supervisor.service.client.post(f"/runs/{supervisor.id}/cancel").status_code < 300
    supervisor.report("starting", "running", "cancelled")


def broken(supervisor):
    supervisor.report("starting", "running", "failed_infra")


@pytest.mark.parametrize("fault", [refused, cancelled, broken])
def test_a_trial_that_was_not_made_is_missed_by_the_comparison(service, fault):
    """Also one that failed before its first step, as where the source of an own algorithm has changed."""
    experiment = service.submit(**TUNED, retry={"attempts": 1})["id"]
    play_one(service, fault)
    comparison, _ = compared(service, experiment)
    row = next(row for row in comparison["rows"] if row["variant"] == "sync")
    assert row["speed_up"]["claim"] == "no claim"
    assert "unequal tuning: 7 trials, but 8 of local" in row["speed_up"]["sentence"]


def test_trials_that_diverge_do_not_fail_an_experiment(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, lambda run: "diverged" if run["trial"] == 1 else by_rate(run))
    assert "failed_user" in service.get(f"/experiments/{experiment}")["runs"]
    assert service.get(f"/experiments/{experiment}")["state"] == "succeeded"


def test_an_experiment_of_which_nothing_could_be_measured_has_failed(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, lambda run: "diverged")
    assert service.get(f"/experiments/{experiment}")["state"] == "failed"
    comparison, sentences = compared(service, experiment)
    assert comparison["tuning"].startswith("No setting was chosen from 8 trials per variant")
    assert sentences == [
        "On local (2 workers), nothing was measured. How the runs of its trials ended: "
        "sync (12 failed); local (12 failed)."
    ]


def test_what_was_cancelled_is_not_called_chosen(service):
    experiment = service.submit(**TUNED)["id"]
    play(service, by_rate, until=lambda run: run["rung"] == 1)
    service.client.post(f"/experiments/{experiment}/cancel")
    comparison, _ = compared(service, experiment)
    assert comparison["tuning"].startswith("No setting was chosen")


def test_what_simulated_time_leaves_out_is_told_of_chosen_settings_too(service):
    """It was told only where settings are as given: methods whose encoding costs nothing won without a word."""
    place = {"name": "sim", "computed_on": "local", "workers": [2], "seeds": 3, "virtual": {}}
    variants = [TUNED["variants"][1], {"name": "demo", "algorithm": "demo"}]
    changes = {"variants": variants, "clusters": [place], "tuning": {"trials": 2}}
    experiment = service.submit(**TUNED | changes)["id"]

    def told():
        warnings = service.get(f"/experiments/{experiment}")["warnings"]
        return [each["pointer"] for each in warnings if "leaves out the encoding" in each["message"]]

    assert told() == []
    play(service, by_rate)
    assert told() == ["/variants/1/parameters"]
