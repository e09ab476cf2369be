"""Tables and page of the tuned comparison, from records alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.warnings import FEW_STEPS

from benchmarks.evidence.machine import title_of
from benchmarks.tuned import across, field
from benchmarks.tuned.conditions import AT, BATCH, TASKS, Task
from benchmarks.tuned.entries import PEER_NAMES, baseline_at, entry_of
from benchmarks.tuned.records import Record
from benchmarks.tuned.repeated_page import repeated_section
from benchmarks.tuned.rows import ORIGINAL, Row, elastic_verdict, original_verdict, rows, told, verdicts
from benchmarks.tuned.rules import WORDS, marked, note
from benchmarks.tuned.whole import counted, entered, heading, is_whole

HEADER = (
    "| entry | chosen setting | trials on the hosts that met the target | seconds, by seed | thousand samples | "
    "exposed | verdict |\n"
    "|---|---|---|---|---|---|---|"
)
TITLE = """\
# Methods and peers, each at the best of as many trials

<!-- written by `python -m benchmarks.tuned publish` -->"""
INTRODUCTION = f"""\
In a table every entry has the same number of trials with the same budgets, unless its section says otherwise:
settings drawn from the space that the method declares, or that covers what the peer's library offers, judged on
the validation part. The search is successive halving ([tuning](../tuning.md)), or trials in virtual time, where a
peer is represented by the method of the catalogue with its equations ([records](tuned/proposals)); the best of
these are then tried on the hosts with the whole budget. The best setting is measured on seeds that no trial had.

Seconds are those of the train clock until the target was met on the validation part, evaluations excluded;
*exposed* is the share of that time in which a worker waits for communication. Batch {BATCH} per worker and fp32
gradients, where a section says nothing else. Methods of the catalogue send bf16 with error feedback; the hooks of
DDP are entries of their own. All-reduces of the catalogue's methods go along a binomial tree where a section says
nothing else. It takes longer than recursive halving, the product's default since, and than the ring of PyTorch's
gloo, which takes as long as halving: see [decision 112](../decisions/0112-halving-by-default.md). Verdicts follow
[the rule](../decisions/0020-one-rule-of-verdict.md): 95%, paired by seed, corrected for the number of comparisons
in a table. Seconds of two tables are not comparable.

A search of few trials is itself random: another draw of trials may find a better setting for any entry. A
verdict is on the settings that were found. How the tables came about, and what limits them:
decisions [38](../decisions/0038-virtual-time-proposes.md) and [82](../decisions/0082-two-more-workloads.md)."""

PINNED = (
    "Every rank has a core, to which it is pinned, and begins as a fork of a process that has imported PyTorch; "
    "what it computes and times is the same ([decision 116](../decisions/0116-hosts-with-a-core-each.md))."
)
SHARED = (
    "Virtual time chose the settings by the clock of hosts with a core each, which these have not: of the trials "
    "others may be the fastest here ([decision 126](../decisions/0126-gradients-one-exchange-late.md))."
)
TAKEN = "So the runs of {} are those of the table with a tree. "
At = tuple[str, str, str, str]
"""Machine, which is empty in virtual time, task, place and effort of the search."""
ORIGINAL_HEADER = (
    f"| where | fastest entry | {ORIGINAL} (exchanges in rank order), seconds, by seed | the fastest over it |\n"
    "|---|---|---|---|"
)
DECISION = "../decisions/0096-evaluations-of-overlapped-methods.md"
IN_WORDS = {"at least": "faster", "at most": "slower", "same": "practically the same"}
"""Claims with a bound only, in the count of all tables."""


def table(records: Iterable[Record], baseline: str) -> str:
    """Return one task at one place as a Markdown table, the fastest first, with verdicts against an entry."""
    of, found = list(records), rows(records)
    said = verdicts(found, baseline)
    simulated = any(AT[record["place"]].world == "virtual" for record in of)
    header = HEADER.replace(" on the hosts", "") if simulated else HEADER
    return "\n".join([header, *(row.line(said.get(name), name == baseline) for name, row in found.items())])


def page(records: Sequence[Record]) -> str:
    """Return the page: a section for each machine, task, place and kind of search."""
    tables = _parts(records)
    real = [found for (_, _, place, _), found in sections(records) if AT[place].world != "virtual"]
    head = [TITLE, *_answer(real), INTRODUCTION, *over_original(sections(records))]
    again = _repeated(records)
    body = list[str]()
    for at, own in tables.items():
        body += [_section(*at, own), *map(repeated_section, again.pop(at[:3], []))]
    body += [repeated_section(own) for groups in again.values() for own in groups]
    return "\n\n".join([*head, *body]) + "\n"


def sections(records: Sequence[Record]) -> list[tuple[At, dict[str, Row]]]:
    """Return the entries of each machine, task, place and kind of search, in the order of the page."""
    return [(at, rows(own)) for at, own in _parts(records).items()]


def _parts(records: Sequence[Record]) -> dict[At, list[Record]]:
    """Return the records of each table of a search, those in virtual time last: these are of no machine."""
    found: dict[At, list[Record]] = defaultdict(list)
    for record in records:
        if record.get("repeats"):
            continue
        machine = "" if AT[record["place"]].world == "virtual" else title_of(record["hardware"])
        found[machine, record["task"], record["place"], record["effort"]].append(record)
    return {at: found[at] for at in sorted(found, key=lambda at: (not at[0], at))}


def _repeated(records: Sequence[Record]) -> dict[tuple[str, str, str], list[list[Record]]]:
    """Return the tables of settings that were repeated by another collective, by machine, task and place."""
    found: dict[tuple[str, str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.get("repeats"):
            found[title_of(record["hardware"]), record["task"], record["place"]][record["effort"]].append(record)
    return {at: list(by_effort.values()) for at, by_effort in sorted(found.items())}


def _answer(tables: Sequence[Mapping[str, Row]]) -> Iterable[str]:
    """Yield whether elastic averaging wins, over all tables of real hosts."""
    said = [IN_WORDS.get(found[2].claim, found[2].claim) for each in tables if (found := elastic_verdict(each))]
    if said:
        counted = ", ".join(f"{number} {claim}" for claim, number in Counter(sorted(said)).items())
        old = sum(_elastic_outdated(each) for each in tables)
        judged = [each for each in tables if elastic_verdict(each)]
        yield (
            f"**The fastest elastic method entered, over the fastest of all other entries, in {len(said)} tables "
            f"of real hosts: {counted}.** {field.about_elastic(judged, said)} In "
            "simulated conditions: [where elastic averaging is faster](regimes.md)."
            + (f" In {old} of these tables it was timed by an {WORDS}, which is explained there." if old else "")
        )
    if tables:
        yield field.not_measured(tables)


def _elastic_outdated(found: Mapping[str, Row]) -> bool:
    verdict = elastic_verdict(found)
    return verdict is not None and found[verdict[0]].outdated


def _section(machine: str, task_name: str, place: str, effort: str, records: Sequence[Record]) -> str:
    task, found = TASKS[task_name], rows(records)
    simulated = AT[place].world == "virtual"
    pinned = all(record.get("pinned") for record in records)
    crowded = ", oversubscribed" if AT[place].hosts > records[0]["hardware"]["cores"] else ""
    placed = "" if simulated else _placed(bool(crowded), pinned, records)
    lines = [
        f"## {heading((machine, task_name, place, effort))}{'' if simulated else crowded}",
        "",
        f"{machine or _computed(records)}. {effort[0].upper()}{effort[1:]}. "
        f"{_step(task, found, placed)}{_cost(records)}",
        "",
        *(f"- {sentence}" for sentence in (*_findings(found), *field.notes(effort, found, task.collective))),
        *(f"- {sentence}" for sentence in _of_meetings(task, AT[place].hosts, found)),
        "",
        table(records, next((name for name in (baseline_at(AT[place]), *PEER_NAMES) if name in found), "")),
        *(["", note(DECISION)] if any(row.outdated for row in found.values()) else []),
    ]
    return "\n".join(lines)


def _computed(records: Sequence[Record]) -> str:
    """Return where simulated runs were computed, on which nothing depends but the rounding of sums."""
    by = Counter(
        title_of(each["hardware"]) + (f", PyTorch {each['torch']}" if "torch" in each else "") for each in records
    )
    if len(by) == 1:
        return next(iter(by))
    runs = "; ".join(f"{where} ({number} runs)" for where, number in sorted(by.items()))
    return f"Computed on {runs}: they round sums differently, which may move a target by an evaluation"


def _placed(crowded: bool, pinned: bool, records: Sequence[Record]) -> str:
    """Return in words how ranks share the cores, and what that means for settings that virtual time has chosen."""
    said = PINNED if pinned else SHARED if crowded else ""
    if said and (others := sum(bool(record.get("others")) for record in records)):
        said += f" Other programs used the machine's other cores in {others} of these {len(records)} runs."
    return f"{said} " if said else ""


def _step(task: Task, found: Mapping[str, Row], placed: str) -> str:
    """Return how the entries step and exchange; `placed`: how ranks share the cores, empty in virtual time."""
    of = [entry_of(name) for name in found]
    served = any(not entry.peer and algorithm(entry.method).servers for entry in of)
    taken = [name for name, row in found.items() if row.taken]
    without = (
        "Methods with a server have no all-reduce. " + (TAKEN.format(", ".join(taken)) if taken else "")
        if served
        else (
            "Left out are methods with a server, which have none, and entries without times by this schedule "
            "([decision 109](../decisions/0109-simulated-rivals.md)). "
        )
    )
    halving = "All-reduces by recursive halving instead of a tree: the same bits. "
    halving += placed or without
    return _batch(task) + (halving if task.collective == "halving" else "")


def _batch(task: Task) -> str:
    if not task.searches_batch:
        batch = f"Batch {task.batches[0]} per worker. " if task.batches != (BATCH,) else ""
        passes = f"Passes, also those of evaluations, in {task.precision}. " if task.precision != "fp32" else ""
        inner = "Every worker steps by AdamW with weight decay 0.01. " if task.optimizer == "adamw" else ""
        return batch + passes + inner
    choices = ", ".join(map(str, task.batches))
    return (
        f"Every entry searches its batch per worker ({choices}), and DDP its accumulation among 1 and 2. Forward "
        f"and backward passes, also those of evaluations, are computed in {task.precision}. "
    )


def _cost(records: Sequence[Record]) -> str:
    simulated = AT[records[0]["place"]].world == "virtual"
    spent = [record.get("processor_seconds") if simulated else record["wall_seconds"] or 0.0 for record in records]
    known = [seconds for seconds in spent if seconds is not None]
    took = f", {sum(known) / 3600:.1f} h{' of a core' if simulated else ''}" if len(known) == len(spent) else ""
    pace = [record["machine_ms"] for record in records]
    commits = Counter(record["commit"] for record in records)
    fixed = f" A fixed piece of work took {min(pace):.1f} to {max(pace):.1f} ms before them."
    anew = sum(bool(record.get("retimed")) for record in records)
    again = (
        f" The times of {anew} of them were computed anew, without their gradients (decision 109)." if anew else ""
    )
    return f"{len(records)} runs{took}.{'' if simulated else fixed}{again} Commit {', '.join(commits)}."


def _findings(found: Mapping[str, Row]) -> Iterable[str]:
    """Yield what is asked of the table: the fastest over each peer, and elastic over other methods."""
    if is_whole(found):
        yield f"{entered(found)} {counted(found)}"
    for peer in PEER_NAMES:
        said = verdicts(found, peer)
        if best := next((name for name in found if name in said and name not in PEER_NAMES), None):
            verdict = marked(told(best, said[best]), found[best].outdated)
            yield f"{field.fastest_of(found)}, over {peer}: {verdict}."
    if original := original_verdict(found):
        first, over = original
        verdict = marked(told(first, over), found[first].outdated)
        yield f"The fastest entry, over {ORIGINAL}, whose workers exchange in rank order: {verdict}."
    if of_elastic := elastic_verdict(found):
        first, other, over = of_elastic
        verdict = marked(told(first, over), found[first].outdated)
        yield (
            f"{field.elastic_of(found)}, over {found[other].title}, the fastest of all others: {verdict}, "
            "corrected for the choice of these two."
        )
    for row in found.values():
        if row.fewer:
            yield f"Not tuned as the others: {row.title}, {row.fewer}."


def _of_meetings(task: Task, workers: int, found: Mapping[str, Row]) -> Iterable[str]:
    """Yield which entries wait at evaluations that are only few steps apart, as others do not."""
    steps = task.every / (max(task.batches) * workers)
    of = {name: entry_of(name) for name in found}
    free = [
        name
        for name, entry in of.items()
        if not entry.peer and algorithm(entry.method).coordination == "lock-free" and steps < FEW_STEPS
    ]
    if free:
        yield (
            f"{' and '.join(free)}: workers without a lock wait for the last of them at every evaluation, on the "
            f"clock, here after {steps:.2g} steps of each. Evaluated less often they take less."
        )


def over_original(tables: Sequence[tuple[At, Mapping[str, Row]]]) -> Iterable[str]:
    """Yield what spans sections: over machines, and the fastest entry over Original EASGD by number of workers."""
    yield from across.paragraphs(tables)
    lines = []
    for (machine, task, place, _), found in sorted(tables, key=lambda each: AT[each[0][2]].hosts):
        if verdict := original_verdict(found):
            first, said = verdict
            times = ", ".join(found[ORIGINAL].seconds)
            at = f"{TASKS[task].title} to {TASKS[task].target:.1%}", place_title(place), machine
            where = ", ".join(filter(None, at))
            others = len(found) - 1
            cells = [where, f"{found[first].title}, the fastest of {others}", times, told(first, said)]
            lines.append(f"| {' | '.join(cells)} |")
    if lines:
        yield "\n".join(["By number of workers:", "", ORIGINAL_HEADER, *lines])


def place_title(place: str) -> str:
    """Return a place in words, which say whether it is simulated."""
    return f"{AT[place].title}{' (simulated)' if AT[place].world == 'virtual' else ''}"
