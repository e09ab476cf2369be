"""A device alone and with the CPU beside it, with the same trials: the draw, the order of runs, what is told."""

import math

import pytest
from hooke.catalogue.validation import validate_run

from benchmarks.unequal import __main__ as command
from benchmarks.unequal import beside, claims
from benchmarks.unequal.beside import ALONE, BOXES, CPU, HOW, ROOT, SEEDS, SIZE, TRIALS, Beside
from benchmarks.unequal.conditions import RANGE, TUNING_SEED


def documents(number, condition="k80"):
    return {entry: Beside("digits", condition, entry, number, 1).document for entry in HOW}


def test_every_batch_has_a_rate_in_each_third_of_the_range():
    drawn = [beside.drawn(number) for number in range(TRIALS)]
    least, most = RANGE
    for batch in beside.BATCHES:
        places = sorted(math.log(rate / least) / math.log(most / least) for size, rate in drawn if size == batch)
        assert [int(3 * place) for place in places] == [0, 1, 2]
    parts = sorted(int(TRIALS * math.log(rate / least) / math.log(most / least)) for _, rate in drawn)
    assert parts == list(range(TRIALS)), "one in each part"


@pytest.mark.parametrize("number", [0, 5, 11])
def test_the_updates_of_a_device_have_one_batch_and_one_rate_in_all_entries(number):
    """With the CPU beside it a quarter of its batch has a quarter of the rate, or a half."""
    batch, rate = beside.drawn(number)
    made = documents(number)
    for document in made.values():
        validate_run(document)
    of = {entry: document["algorithm"]["parameters"] for entry, document in made.items()}
    assert (made[ALONE]["batch"], of[ALONE]["lr"]) == (batch, rate)
    assert (made[CPU]["batch"], of[CPU]["lr"]) == (batch // 4, rate)
    assert [made[entry]["workers"] for entry in HOW] == [1, 1, 2, 2]
    kinds = [[each["kind"] for each in made[entry]["virtual"]["devices"]] for entry in HOW]
    assert kinds == [["k80"], ["cpu-28"], ["k80", "cpu-28"], ["k80", "cpu-28"]]
    for entry, part in ((SIZE, 4), (ROOT, 2)):
        device, cpu = (of[entry]["lr"] * n ** of[entry]["rate_exponent"] for n in of[entry]["sizes"])
        assert made[entry]["batch"] * of[entry]["sizes"][0] == batch
        assert device == pytest.approx(rate, rel=1e-4) and cpu == pytest.approx(rate / part, rel=1e-4)


def records(seconds, task="digits", boxes=beside.BOXES):
    """Return records of all runs; a result takes the seconds of its entry, a bit more with each seed."""
    found = {}
    for condition in boxes:
        for entry, taken in seconds.items():
            for number, seed in [*((n, TUNING_SEED) for n in range(TRIALS)), *((3, seed) for seed in SEEDS)]:
                run = Beside(task, condition, entry, number, seed)
                at = (taken if number == 3 else 9.0) * (1 + 0.002 * (seed % 10))
                curve = {} if seed == TUNING_SEED else {"curve": [[0.999 * at, 1.0], [at, 0.5]]}
                figures = {"diverged": False, "seconds": at, "loss": 0.5, "clock": at} | curve
                found[run] = run.record(figures)
    return found


def test_of_a_curve_are_kept_the_evaluations_that_tell_when_the_target_was_met():
    """The end of a run may be evaluated once more after it: two were kept, and the time had no lower bound."""
    curve = [[0, 4.0], [1, 3.0], [2, 2.0], [3, 1.0]]
    assert beside.told(curve, 2.0) == [[1, 3.0], [2, 2.0], [3, 1.0]]
    assert beside.told(curve, 3.0) == curve[2:]
    assert beside.told(curve, None) == [[3, 1.0]]


HAND = {ALONE: 6.0, CPU: 4.0, SIZE: 3.0, ROOT: 2.0}


def test_what_is_told_by_hand():
    found = records(HAND)
    said = beside.verdicts(found, ("digits", "k80"))
    assert [said[each].ratio for each in (SIZE, ROOT)] == pytest.approx([2, 3])
    assert [claims.WAYS[said[each].claim] for each in (SIZE, ROOT)] == [1, 1]
    batch, _ = beside.drawn(3)
    device, cpu = batch / (1e-3 + batch * 20e-6 / 2.2), batch / 4 / (50e-6 + batch / 4 * 20e-6)
    assert beside.limit(found, ("digits", "k80")) == pytest.approx(1 + cpu / device)
    text = "\n".join(beside.section(found))
    assert f"- {SIZE}: faster than the device alone in 3 of 3 cells, slower in\n  0; by the mean" in text
    assert f"smaller median than the device alone in 3; {ROOT} is\n  faster than the CPU alone there in 3." in text
    (row,) = [line for line in text.splitlines() if line.startswith("| digits | K80")]
    assert row.endswith(f" {1 + cpu / device:.2f} | 2.50 |")
    assert "**3.0x" in row and f"| 6.04 (batch {batch}, rate" in row

    (answer,) = beside.answer(found)
    assert "faster in 3 of 3 cells" in answer and "slower in 0; by its mean ratio" in answer
    assert answer.endswith(f"or above in {sum(beside.limit(found, ('digits', box)) <= 3 for box in BOXES)}.")


def test_a_task_without_all_boxes_is_not_told():
    assert list(beside.section({})) == list(beside.answer({})) == []
    assert list(beside.section(records(HAND, boxes=("k80", "v100")))) == []


def test_trials_come_before_results_and_are_ended_behind_the_best(monkeypatch):
    whole = records(HAND, boxes=("k80",))
    found, order = {}, []
    while (todo := beside.following(found, [("digits", "k80")])) is not None:
        run, limit = todo
        order.append((run.entry, run.trial, run.seed, limit))
        found[run] = whole[run]
    assert found == whole
    assert [each[:3] for each in order[: TRIALS + 1]] == [
        *((ALONE, number, TUNING_SEED) for number in range(TRIALS)),
        (ALONE, 3, SEEDS[0]),
    ]
    limits = [each[3] for each in order[:TRIALS]]
    assert limits[0] is None and limits[3] == pytest.approx(1.25 * 9.0 + 5e-3, rel=1e-3)
    assert limits[4] == pytest.approx(1.25 * 6.0 + 5e-3, rel=1e-3)
    assert order[TRIALS][3] is None, "a result is not ended"


def test_published_records_are_of_the_trials_that_are_drawn():
    assert all(map(beside.is_drawn, beside.read(command.BESIDE, beside.run_of).values()))
