"""The replay of job traces against closed forms and the scheduler's order."""

import heapq
import random
import time

import numpy as np
import pytest
from hooke_api.queue import figures, trace
from hooke_api.queue.policies import ordered
from hooke_api.queue.replay import _Fair, line_of, peak, replay
from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.state import QueueState
from hooke_api.queue.synthetic import Shape, synthetic
from hooke_api.queue.trace import Job, TraceError

JOBS = 80_000


def poisson(seed, rate, service, jobs=JOBS, slots=1):
    draw, at, found = random.Random(seed), 0.0, []
    for number in range(jobs):
        at += draw.expovariate(rate)
        found.append(Job(f"{number}", "ada", slots, at, service(draw)))
    return found


def waits_of(jobs, slots=1, order=Order.FIRST_COME, **policy):
    waits = replay(jobs, slots, QueuePolicy(order=order, **policy), "known").waits
    return np.array(waits[len(waits) // 20 :])  # the queue begins empty


def assert_mean(waits, expected):
    """Compare with a closed form, within four standard errors.

    The asymptotic variance of the mean wait of M/M/1, r (2 + 5 r - 4 r^2 + r^3) / ((1 - r)^4 n), is 2.2% squared
    for r = 0.6 and 80,000 jobs.
    """
    assert waits.mean() == pytest.approx(expected, rel=4 * 0.022)


def first_come(jobs, slots):
    """Return the waits of first come, first served: Lindley (1952) for one slot, Kiefer and Wolfowitz (1955)."""
    free, waits = [0.0] * slots, []
    for job in jobs:
        start = max(job.submitted_at, free[0])
        heapq.heapreplace(free, start + job.seconds)
        waits.append(start - job.submitted_at)
    return np.array(waits)


SERVICES = {
    "exponential": lambda draw: draw.expovariate(1.0),
    "constant": lambda draw: 1.0,
    "of two kinds": lambda draw: 0.5 if draw.random() < 0.9 else 5.5,
}


@pytest.mark.parametrize(("rate", "slots"), [(0.6, 1), (2.8, 4)])
@pytest.mark.parametrize("service", SERVICES)
def test_first_come_first_served_has_every_wait_of_the_recursion(service, rate, slots):
    jobs = poisson(3, rate, SERVICES[service], 4000, 1)
    expected = first_come(jobs, slots)
    assert 0.2 < np.mean(expected > 0) < 0.95
    found = replay(jobs, slots, QueuePolicy(order=Order.FIRST_COME), "known").waits
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_shortest_job_first_has_the_mean_of_cobham_and_phipps():
    """W = (lambda E[S^2] / 2) * integral of dF(x) / (1 - rho(x))^2, for exponential services."""
    rate = 0.6
    jobs = poisson(4, rate, lambda draw: draw.expovariate(1.0))
    x = np.linspace(0, 40, 400_001)
    load = rate * (1 - np.exp(-x) * (1 + x))  # rate * integral of t dF(t) up to x
    expected = rate * 2.0 / 2 * np.trapezoid(np.exp(-x) / (1 - load) ** 2, x)
    found = waits_of(jobs, order=Order.SHORTEST_SERVICE, patience_hours=None)
    assert_mean(found, expected)
    assert found.mean() < 0.8 * first_come(jobs, 1).mean()


def test_two_classes_of_priority_have_the_means_of_cobham():
    """W_high = R / (1 - rho_high), W_low = W_high / (1 - rho); the mean residual service R is rho for exp(1)."""
    draw = random.Random(5)
    jobs = poisson(6, 0.6, lambda draw: draw.expovariate(1.0))
    marked = [Job(j.id, j.user, 1, j.submitted_at, j.seconds, draw.choice((0, 5))) for j in jobs]
    waits = waits_of(marked, order=Order.PRIORITY, ageing_minutes=None)
    high = np.array([job.priority == 5 for job in marked])[-len(waits) :]
    assert_mean(waits[high], 0.6 / 0.7)
    assert_mean(waits[~high], 0.6 / 0.7 / 0.4)


class Checked:
    """A line of the replay that compares every decision with the order of the scheduler."""

    def __init__(self, policy, slots):
        self.line, self.policy, self.slots, self.waiting, self.seen = line_of(policy), policy, slots, [], 0

    def push(self, entry):
        self.waiting.append(entry)
        self.line.push(entry)

    def first(self, now):
        usage = self.line.usage(now) if isinstance(self.line, _Fair) else {}
        state = QueueState("c", self.slots, now, tuple(self.waiting), (), self.policy, usage, exclusive=False)
        expected = next(iter(ordered(state)), None)
        found = self.line.first(now)
        assert found == expected
        self.seen += len(self.waiting) > 1
        return found

    def started(self, entry, now):
        self.waiting.remove(entry)
        self.line.started(entry, now)

    def ended(self, entry, seconds, now):
        self.line.ended(entry, seconds, now)


@pytest.mark.parametrize("order", list(Order))
def test_the_replay_decides_as_the_scheduler_does(order):
    jobs = synthetic(7, Shape(jobs=250, users=6, slots=8, load=1.3)).jobs
    policy = QueuePolicy(order=order, patience_hours=2)
    line = Checked(policy, 8)
    replay(jobs, 8, policy, "history", line)
    assert line.seen > 200


def test_a_synthetic_trace_is_heavy_tailed_and_repeatable():
    jobs = synthetic(1).jobs
    assert jobs == synthetic(1).jobs != synthetic(2).jobs
    seconds, slots = np.array([job.seconds for job in jobs]), np.array([job.slots for job in jobs])
    assert seconds.mean() > 5 * np.median(seconds)
    work = np.sort(seconds * slots)
    assert work[-len(work) // 20 :].sum() > 0.6 * work.sum()
    assert (slots == 1).mean() > 0.4


def test_the_margins_are_those_of_the_waits():
    jobs = synthetic(3, Shape(jobs=3000, users=20, slots=32)).jobs
    found = figures.compare(jobs, 32)
    first, known = found[0], found[-1]
    assert (first.wait_margin.ratio, first.wait_margin.low, first.wait_margin.high) == (1, 1, 1)
    assert known.wait_margin.ratio == pytest.approx(known.wait.mean / first.wait.mean)
    assert known.wait_margin.low < known.wait_margin.ratio < known.wait_margin.high < 1
    assert known.wait.mean == pytest.approx(np.mean(known.replayed.waits))
    assert all(each.slowdown.mean >= 1 for each in found)


def test_the_bootstrap_covers_the_true_ratio():
    """Of ratios of means of independent values, nine of ten intervals of 95% hold the truth at least."""
    draw = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        found = figures.margin(2 * draw.exponential(size=500), draw.exponential(size=500))
        held += found.low <= 2 <= found.high
    assert held >= 88


def test_slowdown_is_bounded():
    found = figures.slowdown(np.array([0.0, 5.0, 30.0]), np.array([100.0, 1.0, 10.0]))
    assert found == pytest.approx([1.0, 1.0, 4.0])


HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,uB,vcx,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:42:27,2020-06-09 18:46:36,249,60
6,uA,vcy,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
8,uC,vcx,0,8,1,COMPLETED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:41:38,10,0
9,uC,vcx,2,8,1,CANCELLED,2020-06-09 18:41:29,,,0,0
"""


def test_the_helios_format_is_read():
    """Columns and format as the repository of the traces documents them; the rows are invented."""
    found = trace.read(HELIOS.splitlines())
    assert [(job.id, job.user, job.slots, job.seconds) for job in found.jobs] == [
        ("6", "uA", 1, 36848.0),
        ("7", "uB", 4, 249.0),
    ]
    assert found.skipped == 2  # without a GPU, without a duration
    assert found.jobs[1].submitted_at - found.jobs[0].submitted_at == 26
    assert found.jobs[1].started_at - found.jobs[1].submitted_at == 60
    assert [job.id for job in trace.read(HELIOS.splitlines(), "vcx", "cpu").jobs] == ["7", "8"]
    assert peak(found.jobs) == 5
    without = HELIOS.replace(",duration", ",other")
    assert trace.read(without.splitlines()).jobs[1].seconds == 249


def test_a_written_trace_is_read_back():
    jobs = synthetic(3, Shape(jobs=50)).jobs
    found = trace.read(trace.written(jobs).splitlines()).jobs
    assert [(j.id, j.user, j.slots, j.priority) for j in found] == [
        (j.id, j.user, j.slots, j.priority) for j in jobs
    ]
    assert [j.seconds for j in found] == pytest.approx([j.seconds for j in jobs])
    assert [j.submitted_at for j in found] == pytest.approx([j.submitted_at for j in jobs], abs=1e-3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "not a job trace: the first line has the columns a, b"),
        (
            HELIOS.replace("2020-06-09 18:41:01,2020-06-09 18:41:01", "yesterday,"),
            "line 3: 'yesterday' is not a time",
        ),
        (HELIOS.replace("36848", "long"), "line 3: could not convert"),
    ],
)
def test_a_file_that_is_no_trace_says_why(text, why):
    with pytest.raises(TraceError, match=why):
        trace.read(text.splitlines())
    with pytest.raises(TraceError, match="the trace has: vcx, vcy"):
        trace.read(HELIOS.splitlines(), "vcz")


@pytest.mark.parametrize(
    "changed",
    [
        HELIOS.replace("job_id", "\ufeffjob_id", 1),  # a spreadsheet's mark
        HELIOS.replace(",1,1,1,", ",1.0,1.0,1,").replace(",0,8,1,", ",0.0,8,1,"),  # pandas with missing values
        HELIOS.replace("job_id,user", "job_id, user").replace("\n", "\r\n"),
        HELIOS.replace("2020-06-09 18:41:01,2", "2020-06-09T18:41:01+00:00,2"),
        HELIOS.replace(",4,16,", ",3.5,16,"),  # a part of a GPU
        HELIOS + "\n\n10,uD\n11\n",  # short rows have no duration
    ],
)
def test_traces_as_other_programs_write_them(changed):
    found = trace.read(changed.splitlines(keepends=True)).jobs
    assert found == trace.read(HELIOS.splitlines()).jobs


def test_slots_are_cpus_where_no_job_has_a_gpu_whatever_a_zero_looks_like():
    text = HELIOS.replace(",4,16,", ",0.0,16,").replace(",1,1,1,", ",0.0,1,1,").replace(",2,8,1,", ",0.0,8,1,")
    assert [job.slots for job in trace.read(text.splitlines()).jobs] == [1, 16, 8]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HELIOS.replace(",4,16,", ",inf,16,"), "line 2: cannot convert float infinity"),
        (HELIOS.replace("\n6", "\n\n\n6").replace("36848", "long"), "line 5: could not convert"),
        (HELIOS + '9,"' + "x" * 200_000 + '"\n', "line 6: field larger than field limit"),
    ],
)
def test_cells_that_are_wrong_are_named_by_their_line(text, why):
    with pytest.raises(TraceError, match=why):
        trace.read(text.splitlines(keepends=True))


@pytest.mark.parametrize("seconds", ["-5", "nan", "inf", "1e999"])
def test_durations_that_are_none_are_left_out(seconds):
    found = trace.read(HELIOS.replace(",36848,", f",{seconds},").splitlines())
    # without a duration, the times of start and end give it
    assert [job.id for job in found.jobs] == (["6", "7"] if seconds == "nan" else ["7"])


def test_a_user_may_have_any_name():
    jobs = [Job("1", 'a "b",\u2028c\nd', 1, 0.0, 5.0)]
    from hooke_api.local.replaying import of_history

    assert of_history(trace.written(jobs), "lab").trace.jobs[0].user == jobs[0].user


def test_unknown_services_are_placed_by_the_median_however_many_wait():
    """Before the first job ends nothing is known; the median of what waits is not sorted anew at every look."""
    jobs = [Job(f"{n}", f"u{n % 3}", 1, float(n) / 100, 5.0 if n else 50.0) for n in range(10_000)]
    began = time.process_time()
    replay(jobs, 1, QueuePolicy(order=Order.SHORTEST_SERVICE, patience_hours=None))
    assert time.process_time() - began < 2.5  # 0.2 s; 5 s where it is
