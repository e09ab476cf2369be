"""Lists over 100,000 runs: pages of runs and of experiments with every kind of filter.

The rows are stored directly, as a year of work leaves them; requests are HTTP. Filters that nothing matches are
the dearest ones, and are among them.
"""

from __future__ import annotations

from urllib.parse import quote

from benchmarks.api.client import timed
from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.rows import CLUSTER, PER_EXPERIMENT, store
from benchmarks.api.server import Server

TITLE = "Lists"
GOAL_MS = 100.0
REQUESTS = 24
RUNS = {
    "runs": "limit=100",
    "runs, queued": "limit=100&state=queued",
    "runs, failed or cancelled": "limit=100&state=failed_user&state=failed_infra&state=cancelled",
    "runs, running (none)": "limit=100&state=running&state=lost",
    "runs, of a rare variant": "limit=100&variant=rare",
    "runs, of a cluster": "limit=100&cluster=hosts",
    "runs, failed, of a variant": "limit=100&state=failed_user&variant=easgd",
    "runs, of a variant that a cluster lacks (none)": "limit=100&variant=rare&cluster=hosts",
    "runs, of trials": "limit=100&reported=false",
    "runs, reported": "limit=100&reported=true",
}
"""What -> query of the list of runs."""
FILTERS = (
    'name ~ "digits 77"',
    "state = failed",
    "state = running",
    "algorithm ~ easgd",
    "algorithm ~ nothing",
    "variant = rare",
    "not cluster = local",
    "tag = paper",
    "starred",
    "created > -1d",
    "runs > 1000",
    "test_accuracy.max > 0.989",
    "test_accuracy.max > 2",
    "not time_to_target.min < 1e9",
    "loss.last < -1",
    "staleness.max > 1 and communication_fraction.min < 0.5",
    "state = succeeded and algorithm ~ nothing and accuracy.max > 0.5",
    "state = cancelled",
    "workload ~ nothing",
    "project = nothing",
    "archived",
    "protected",
    "created < 2001-01-01",
    "number > 1e9",
    "not clock.last < 1e9",
)
"""Of the list of experiments."""
QUERIES = (
    ("algorithm = sync-easgd and workers = 8 and test_accuracy > 0.98", "-test_accuracy"),
    ("algorithm ~ nothing", "-created"),
    ("test_accuracy > 2", "-created"),
    ("state = failed and not simulated", "time_to_target"),
    ("tag = paper and seed = 0", "-accuracy"),
    ("", "loss"),
    ("workers > 0", "-samples"),
    ("variant ~ nothing or cluster ~ nothing", "-created"),
    ("name ~ nothing", "-created"),
    ("project = nothing", "-created"),
    ("workload ~ nothing", "-created"),
    ("archived", "-created"),
    ("created < 2001-01-01", "-created"),
    ("experiment > 1e9", "-created"),
    ("not reported and clock >= 0", "staleness"),
    ("state in (running, lost) or seed > 1e9", "number"),
    ("not lost_mass < 1", "-communication_fraction"),
)
"""Filter and order of the list of runs, over all experiments."""


def measure(bench: Bench) -> Measured:
    """Yield the 95th percentile of each list, ms, and the worst."""
    count = bench.size(100_000, 10 * PER_EXPERIMENT)
    with bench.server() as server:
        store(server, count // PER_EXPERIMENT)
        asked = {what: f"/runs?{query}" for what, query in RUNS.items()}
        for text, sort in QUERIES:
            asked[f"runs, {text or 'all'}, by {sort}"] = f"/runs?limit=100&sort={sort}&filter={quote(text)}"
        asked["experiments"] = "/experiments?limit=50"
        asked |= {f"experiments, {each}": f"/experiments?limit=50&filter={quote(each)}" for each in FILTERS}
        asked["cluster"] = f"/clusters/{CLUSTER}/queue"
        found = {what: tuple(_round(server, path) for _ in range(bench.rounds)) for what, path in asked.items()}
        pages = tuple(_pages(server) for _ in range(bench.rounds))
    worst = max(found, key=lambda what: sorted(found[what])[len(found[what]) // 2])
    yield Figure(
        f"{count:,} runs in {count // PER_EXPERIMENT:,} experiments, the slowest list",
        "ms, p95",
        found[worst],
        GOAL_MS,
    )
    for what, values in found.items():
        yield Figure(what if what != "cluster" else "queue of a cluster", "ms, p95", values, GOAL_MS)
    yield Figure("runs, page after page", "ms, p95", pages, GOAL_MS)


def _round(server: Server, path: str) -> float:
    with server.client() as client:
        return p95([timed(client, "GET", path) for _ in range(REQUESTS)])


def _pages(server: Server) -> float:
    took = []
    with server.client() as client:
        path = "/runs?limit=100"
        for _ in range(REQUESTS):
            took.append(timed(client, "GET", path))
            cursor = client.get(path)["next_cursor"]
            path = f"/runs?limit=100&cursor={quote(cursor)}" if cursor else "/runs?limit=100"
    return p95(took)
