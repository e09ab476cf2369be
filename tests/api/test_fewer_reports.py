"""A supervisor that took over and has fewer reports than its predecessor sent: its end counts all the same."""

import pytest

from tests.api.databases import ONE_KIND
from tests.api.hands import Supervisor


@pytest.mark.parametrize("known", [(), ("starting",)])
@pytest.mark.parametrize("end", ["failed_user", "succeeded", "cancelled"])
def test_the_end_of_an_attempt_is_not_taken_for_a_report_that_was_applied(service, known, end):
    """Its predecessor's disk was full: `starting` and `running` were sent, and are not on it."""
    first = service.launch()
    first.report("starting", "running")
    second = Supervisor(service, first.order)
    second.report(*known, end)
    run = service.run(first.id)
    assert (run["state"], run["history"][-1]["why"]) == (end, f"it is {end}")
    count = len(run["history"])
    second.send()
    assert len(service.run(first.id)["history"]) == count, "once"


@ONE_KIND
def test_a_success_waits_for_the_records_of_its_ranks_as_always(service):
    first = service.launch()
    first.report("starting", "running")
    second = Supervisor(service, first.order)
    second.tell("succeeded")
    second.send(*second.missing_ends()[:1])
    assert service.run(first.id)["state"] == "running"
    second.finish_ranks()
    second.send()
    assert service.run(first.id)["state"] == "succeeded"


@ONE_KIND
def test_an_end_that_waits_is_not_acknowledged(service):
    """A supervisor that has nothing more to send ends with the acknowledgement of its reports."""
    first = service.launch()
    first.report("starting", "running")
    second = Supervisor(service, first.order)
    second.tell("succeeded")
    answer = second.send(*second.missing_ends()[:1])
    assert (service.run(first.id)["state"], answer.reports) == ("running", 0)
    answer = second.send()  # all that it has: the other rank never told its end
    assert (service.run(first.id)["state"], answer.reports) == ("failed_infra", 2)


@ONE_KIND
def test_an_end_that_led_to_another_attempt_is_not_applied_to_that(service):
    first = service.launch(retry={"attempts": 3, "backoff_seconds": 0})
    first.report("starting", "running", "failed_infra", cause="infrastructure")
    state, attempt = service.run(first.id)["state"], service.run(first.id)["attempt"]
    assert (state, attempt) == ("queued", 2)
    first.send()
    Supervisor(service, first.order).report("failed_user")
    again = service.run(first.id)
    assert (again["state"], again["attempt"]) == (state, attempt)
