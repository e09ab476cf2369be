"""What is sent next: a model API acknowledges, forgets and loses answers at random, and ends with every record."""

from hooke.cluster import shipper as module
from hooke.cluster.shipper import Shipper
from hooke.cluster.tail import LogBook
from hooke.spec.events import Checkpointed, IngestAnswer, StateReport
from hypothesis import given, settings
from hypothesis import strategies as st

REPORT = StateReport(state="starting", unix=1, why="x")


def record(seq, size=10):
    return Checkpointed(seq=seq, step=seq, samples=seq, path="p" * size, bytes=1, sha256="0")


def write(path, seqs, size=10):
    with path.open("a") as file:
        for seq in seqs:
            file.write(record(seq, size).model_dump_json() + "\n")


def answer(ingest, stored, logs=-1, reports=None):
    """Store like the API: without gap, ignoring what is there."""
    acknowledged = {}
    for part in ingest.ranks:
        have = stored.setdefault(part.rank, [])
        for item in part.records:
            if item.seq == len(have):
                have.append(item.seq)
            assert item.seq <= len(have), "a gap was offered"
        acknowledged[part.rank] = len(have) - 1
    logs = max([logs, *(line.seq for line in ingest.logs)])
    return IngestAnswer(
        acknowledged=acknowledged,
        logs=logs,
        reports=len(ingest.reports) if reports is None else reports,
        cancel=False,
    )


def make(tmp_path, ranks=2, **more):
    journals = {rank: tmp_path / f"journal.{rank}.jsonl" for rank in range(ranks)}
    return journals, Shipper("run_a", 1, journals, tmp_path / "log.jsonl", **more)


def test_nothing_new_is_still_a_beat(tmp_path):
    _, shipper = make(tmp_path)
    request = shipper.request([], renew=True)
    assert (request.ranks, request.logs, request.renew) == ([], [], True)


def test_unanswered_records_are_sent_again_and_answered_ones_never(tmp_path):
    journals, shipper = make(tmp_path)
    write(journals[0], range(3))
    first = shipper.request([], renew=True)
    assert shipper.request([], renew=True) == first
    stored = {}
    shipper.apply(answer(first, stored))
    write(journals[0], range(3, 5))
    assert [r.seq for r in shipper.request([], renew=True).ranks[0].records] == [3, 4]


def test_a_partial_acknowledgement_moves_that_far(tmp_path):
    journals, shipper = make(tmp_path)
    write(journals[1], range(5))
    shipper.request([], renew=True)
    shipper.apply(IngestAnswer(acknowledged={1: 1}, logs=-1, reports=0, cancel=False))
    assert [r.seq for r in shipper.request([], renew=True).ranks[0].records] == [2, 3, 4]


def test_a_record_being_written_waits(tmp_path):
    journals, shipper = make(tmp_path)
    whole = record(0).model_dump_json()
    journals[0].write_text(whole[:20])
    assert shipper.request([], renew=True).ranks == []
    journals[0].write_text(whole + "\n")
    assert [r.seq for r in shipper.request([], renew=True).ranks[0].records] == [0]


def test_requests_stay_within_bytes_and_records_and_share_fairly(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_RECORDS", 10)
    journals, shipper = make(tmp_path)
    write(journals[0], range(100))
    write(journals[1], range(100))
    request = shipper.request([], renew=True)
    assert [len(part.records) for part in request.ranks] == [5, 5]
    shipper.apply(answer(request, {}))
    assert shipper.behind()


def test_a_body_that_is_too_large_is_halved(tmp_path):
    journals, shipper = make(tmp_path)
    write(journals[0], range(300), size=4000)
    sizes = []
    for _ in range(6):
        request = shipper.request([], renew=True)
        sizes.append(len(request.model_dump_json()))
        shipper.too_large()
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] <= module.MOST_BYTES * 1.1
    assert 32_000 < sizes[-1] < 70_000


def test_a_single_line_larger_than_any_request_goes_alone(tmp_path):
    journals, shipper = make(tmp_path)
    write(journals[0], [0], size=3_000_000)
    write(journals[1], [0])
    first = shipper.request([], renew=True)
    assert sum(len(part.records) for part in first.ranks) == 1
    stored = {}
    shipper.apply(answer(first, stored))
    shipper.apply(answer(shipper.request([], renew=True), stored))
    assert stored == {0: [0], 1: [0]}
    assert shipper.complete([])


def test_a_successor_first_asks_what_the_api_has(tmp_path):
    journals, shipper = make(tmp_path, takes_over=True)
    write(journals[0], range(5))
    request = shipper.request([REPORT], renew=True)
    assert [(part.rank, part.records) for part in request.ranks] == [(0, []), (1, [])]
    shipper.apply(IngestAnswer(acknowledged={0: 3, 1: -1}, logs=-1, reports=1, cancel=False))
    assert [r.seq for r in shipper.request([REPORT], renew=True).ranks[0].records] == [4]


def test_an_api_restored_from_a_backup_gets_it_all_again(tmp_path):
    journals, shipper = make(tmp_path, ranks=1)
    write(journals[0], range(5))
    shipper.apply(answer(shipper.request([], renew=True), {}))
    assert shipper.complete([])
    write(journals[0], [5])
    shipper.request([], renew=True)
    shipper.apply(IngestAnswer(acknowledged={0: 1}, logs=-1, reports=0, cancel=False))
    assert [r.seq for r in shipper.request([], renew=True).ranks[0].records] == [2, 3, 4, 5]


def test_logs_and_reports_count_for_complete(tmp_path):
    journals, shipper = make(tmp_path, ranks=1)
    LogBook(tmp_path / "log.jsonl").say("hello")
    assert not shipper.complete([])
    request = shipper.request([REPORT], renew=False)
    assert [line.text for line in request.logs] == ["hello"]
    shipper.apply(answer(request, {}, reports=0))
    assert not shipper.complete([REPORT]), "the report was not applied"
    shipper.apply(answer(shipper.request([REPORT], renew=False), {}, logs=0))
    assert shipper.complete([REPORT])


def test_damage_stops_one_journal_and_what_precedes_it_arrives(tmp_path):
    journals, shipper = make(tmp_path)
    write(journals[0], range(2))
    with journals[0].open("a") as file:
        file.write("{not json\n")
    write(journals[0], [2])
    write(journals[1], range(2))
    stored = {}
    shipper.apply(answer(shipper.request([], renew=True), stored))
    assert stored == {0: [0, 1], 1: [0, 1]}
    assert shipper.complete([])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["write0", "write1", "ok", "lost request", "lost answer", "restart"]), max_size=40)
)
def test_whatever_fails_nothing_is_lost_or_doubled(tmp_path_factory, events):
    tmp_path = tmp_path_factory.mktemp("ship")
    journals, shipper = make(tmp_path)
    written, stored = [0, 0], {}
    for event in [*events, "ok", "ok", "ok"]:
        if event.startswith("write"):
            rank = int(event[-1])
            write(journals[rank], range(written[rank], written[rank] + 3))
            written[rank] += 3
        elif event == "restart":
            _, shipper = make(tmp_path, takes_over=True)
        else:
            request = shipper.request([], renew=True)
            if event != "lost request":
                reply = answer(request, stored)
                if event == "ok":
                    shipper.apply(reply)
    assert [stored.get(rank, []) for rank in (0, 1)] == [list(range(n)) for n in written]
    assert shipper.complete([])
