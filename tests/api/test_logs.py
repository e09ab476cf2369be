"""The output of runs: compressed blocks, pages of them, the cut in the middle, and what they take."""

import random

import pytest
from alembic import command
from hooke_api.ingest import output
from hooke_api.models import Attempt, LogBlock
from hooke_api.storage.database import alembic_config
from hooke_api.storage.lines import MOST_LINES, WHOLE_BYTES, StoredLine, pack, parts, unpack
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import MetaData, insert, select

from tests.api.databases import MIGRATIONS, ONE_KIND
from tests.api.hands import lines
from tests.api.test_parts import filled

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
LINES = st.lists(
    st.builds(StoredLine, st.integers(-1, 9), st.sampled_from(["stdout", "stderr"]), st.just(1.5), TEXTS)
)


@given(written=LINES)
def test_a_block_has_what_was_written(written):
    assert unpack(pack(written)) == written


def test_parts_are_in_order_and_of_bounded_size():
    chance = random.Random(1)
    written = [StoredLine(0, "stdout", float(i), "x" * chance.choice((1, 10, 5000))) for i in range(20_000)]
    found = parts(written)
    assert [line for part in found for line in part] == written
    assert max(map(len, found)) <= MOST_LINES
    assert max(sum(line.bytes for line in part) for part in found) < WHOLE_BYTES + 5000
    assert parts([]) == []


def everything(service, run, limit=100, **query):
    """Return all lines of a run, read page by page."""
    found, after, more = [], 0, True
    while more:
        page = service.get(f"/runs/{run}/logs", after=after, limit=limit, **query)
        found += page["lines"]
        after, more = page["next_after"], page["more"]
    return found


@pytest.mark.parametrize("limit", [pytest.param(1, marks=ONE_KIND), 7, pytest.param(5000, marks=ONE_KIND)])
def test_pages_have_every_line_once_and_in_order(service, limit):
    supervisor = service.launch()
    for first in range(0, 40, 4):
        supervisor.send(logs=lines(first, 4, rank=first // 4 % 2))
    found = everything(service, supervisor.id, limit)
    assert [line["text"] for line in found] == [f"line {i}" for i in range(40)]
    positions = [line["position"] for line in found]
    assert positions == sorted(set(positions))
    ranked = everything(service, supervisor.id, limit, rank=1)
    assert [line["text"] for line in ranked] == [f"line {i}" for i in range(40) if i // 4 % 2]
    assert service.count(LogBlock) == 1  # requests of a few lines fill one block
    assert service.get(f"/runs/{supervisor.id}/logs", after=positions[-1])["lines"] == []


@ONE_KIND
def test_lines_that_follow_do_not_move_those_that_were_read(service):
    supervisor = service.launch()
    supervisor.send(logs=lines(0, 5))
    before = everything(service, supervisor.id)
    supervisor.send(logs=lines(5, 3000))
    after = everything(service, supervisor.id, 5000)
    assert after[:5] == before
    assert len(after) == 3005


def test_too_much_output_is_cut_in_the_middle_and_says_so(service, monkeypatch):
    monkeypatch.setattr(output, "WHOLE_BYTES", 10_000)
    supervisor = service.launch()
    limit = 200_000
    monkeypatch.setitem(service.settings.__dict__, "logs_limit", limit)
    count, text = 0, "y" * 990
    for _ in range(30):
        sent = [line.model_copy(update={"text": f"{line.seq} {text}"}) for line in lines(count, 20)]
        supervisor.send(logs=sent)
        count += 20
    found = everything(service, supervisor.id, 5000)
    (mark,) = [i for i, line in enumerate(found) if line["stream"] == "supervisor"]
    numbers = [int(line["text"].split()[0]) for i, line in enumerate(found) if i != mark]
    head, tail = numbers[:mark], numbers[mark:]
    assert head == list(range(len(head)))
    assert tail == list(range(count - len(tail), count))
    assert limit / 2 * 0.8 < len(head) * 1000 <= limit / 2
    assert limit * 0.7 < len(numbers) * 995 <= limit
    said = count - len(numbers)
    assert found[mark]["text"].startswith(f"[{said} lines, ")
    assert everything(service, supervisor.id, 5000, rank=0)[mark] == found[mark]
    with service.database.read() as session:
        stored = session.scalars(select(LogBlock)).all()
        attempt = session.scalars(select(Attempt)).one()
    assert sum(block.size for block in stored) == attempt.log_bytes <= limit
    assert sum(block.cut_lines or block.n for block in stored) == count


@ONE_KIND
def test_output_takes_less_than_its_text(service):
    """Lines as programs write them; as rows they took eight times their text."""
    chance, supervisor, count = random.Random(1), service.launch(), 0
    size = 0
    for _ in range(5):
        written = [
            line.model_copy(
                update={"text": f"step {line.seq} loss {chance.random():.6f} accuracy {chance.random():.4f}"}
            )
            for line in lines(count, 4000)
        ]
        size += sum(len(line.text) for line in written)
        supervisor.send(logs=written)
        count += 4000
    with service.database.read() as session:
        blocks = session.scalars(select(LogBlock)).all()
    taken = sum(len(block.data) for block in blocks)
    print(f"{size} bytes of text take {taken} bytes in {len(blocks)} blocks")
    assert taken < size / 2


def test_migrating_keeps_every_line(database):
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0010")
    then = MetaData()
    with database.write() as session:
        then.reflect(session.connection())
        session.execute(insert(then.tables["experiments"]).values(filled(then, "experiments", id="e")))
        for run in ("a", "b"):
            session.execute(insert(then.tables["runs"]).values(filled(then, "runs", id=run, experiment_id="e")))
        for attempt in (1, 2):
            row = filled(then, "attempts", run_id="a", number=attempt, token_sha256=str(attempt))
            session.execute(insert(then.tables["attempts"]).values(row))
        rows = []
        for number in range(6000):
            run, attempt = ("a", 1 + number // 3000) if number % 2 else ("b", 1)
            place = {"position": number + 1, "text": f"{number} ü", "rank": number % 3, "seq": number}
            rows.append(filled(then, "logs", run_id=run, attempt=attempt, **place))
        session.execute(insert(then.tables["logs"]), rows)
    database.migrate(MIGRATIONS)
    with database.read() as session:
        for run, first in (("a", 1), ("b", 0)):
            blocks = session.scalars(select(LogBlock).where(LogBlock.run_id == run).order_by(LogBlock.id)).all()
            kept = [(block.attempt, line) for block in blocks for line in unpack(block.data)]
            assert [line.text for _, line in kept] == [f"{number} ü" for number in range(first, 6000, 2)]
            assert [line.rank for _, line in kept] == [number % 3 for number in range(first, 6000, 2)]
        sizes = dict(session.execute(select(Attempt.number, Attempt.log_bytes)).all())
    assert sizes == {
        k: sum(len(f"{n} ü".encode()) for n in range(1, 6000, 2) if 1 + n // 3000 == k) for k in (1, 2)
    }
    with database.write() as session:
        command.downgrade(alembic_config(MIGRATIONS, session.connection()), "0010")
        texts = session.execute(select(then.tables["logs"].c.text)).scalars().all()
    assert sorted(texts) == sorted(f"{number} ü" for number in range(6000))


@ONE_KIND
def test_the_whole_output_as_text(service, monkeypatch):
    monkeypatch.setattr("hooke_api.runs.output.PAGE", 7)
    supervisor = service.launch()
    for first in range(0, 20, 4):
        supervisor.send(logs=lines(first, 4, rank=first // 4 % 2 - 1))
    answer = service.client.get(f"/runs/{supervisor.id}/log.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == f'attachment; filename="log-{supervisor.id}.txt"'
    told = [line.split(" ", 1) for line in answer.text.splitlines()]
    who = ["mpirun" if i // 4 % 2 == 0 else "rank 0" for i in range(20)]
    assert [text for _, text in told] == [f"{who[i]} stdout: line {i}" for i in range(20)]
    assert told[0][0] == everything(service, supervisor.id)[0]["at"].replace("Z", ".000+00:00")
    only = service.client.get(f"/runs/{supervisor.id}/log.txt", params={"rank": -1}).text
    assert len(only.splitlines()) == 12
    assert service.client.get("/runs/run_none/log.txt").status_code == 404
