"""Output layers on a GPU beside cores: what a step is, in which order, within which time, and the page."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual
from hooke.objective.planted import Planted

from benchmarks.evidence.store import ROOT
from benchmarks.slide import curve_page, device, device_page, device_words
from benchmarks.slide.conditions import BATCH, FULL, SLIDE
from benchmarks.slide.cores import counts
from benchmarks.slide.device import Bench, measure
from benchmarks.slide.learner import Held, Learner, Where, rate, until
from benchmarks.slide.page import page
from benchmarks.slide.plan import BY_SAMPLES, FIRST, Rate, Scale, Train, plan
from benchmarks.slide.publishing import DATA, PAGE, device_results, publish, read, text

SVG = "{http://www.w3.org/2000/svg}"
SMALL = {"labels": 60, "features": 90, "items": 400, "hidden": 6, "validation_items": 40}
PARTS = Planted(60, 90, 400, seed=3).parts()
COMMON = {
    "hardware": {"cpu": "x", "cores": 16, "generation": None, "bf16": "emulated"},
    "threads_of_cores": 16,
    "commit": "0",
    "card": "Some GPU",
    "versions": {"torch": "2"},
}


def made(output, seed=4):
    workload = Held.model_validate({**SMALL, "output": output, "active": 30})
    return workload.on(PARTS, Where("cpu", 1).place(seed))


@pytest.mark.parametrize("output", [FULL, "sampled", SLIDE])
def test_a_learner_takes_the_steps_of_a_run(output):
    """The weights of `hooke run` with SGD and row-wise Adagrad after as many samples, bit for bit."""
    spec = validate_run(
        {
            "schema": "hooke.run/1",
            "workload": {"name": "xmlc-mlp"},
            "algorithm": {"name": "sgd", "parameters": {"lr": 0.3, "optimizer": "row-adagrad"}},
            "batch": 8,
            "seed": 4,
            "workers": 1,
            "budget": {"samples": 80},
            "evaluation": {"every": 80},
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
        }
    )
    (ran,) = run_spec_virtual(spec, None, lambda: made(output))
    learner = Learner(made(output), 0.3, 8, seed=4)
    assert learner.seconds(10) > 0
    np.testing.assert_array_equal(learner.params.numpy(), ran.weights)


def test_a_rate_leaves_builds_out_of_steps():
    found = rate(Learner(made(SLIDE), 0.1, 8), 0.05)
    assert found["build_seconds_per_step"] > 0
    by_hand = 8 / (found["step_seconds"] + found["build_seconds_per_step"])
    assert found["samples_per_second"] == pytest.approx(by_hand, abs=0.1)
    assert rate(Learner(made(FULL), 0.1, 8), 0.02)["build_seconds_per_step"] == 0


def test_a_run_ends_at_its_target_its_budget_or_its_time():
    met = until(Learner(made(FULL), 0.3, 8), 0.1, 160, 100_000, 60)
    assert met["time_to_target"] == met["train_seconds"] > met["not_before"]
    assert met["samples_to_target"] % 160 == 0 and met["validation_accuracy"] >= 0.1
    missed = until(Learner(made(FULL), 0.3, 8), 2.0, 160, 320, 60)
    assert (missed["samples"], missed["time_to_target"]) == (320, None)
    assert until(Learner(made(FULL), 0.3, 8), 2.0, 160, 10**9, 0.001)["samples"] == 160


def test_the_most_important_comes_first():
    cells = list(plan())
    assert cells[0] == Rate("gpu", FULL, FIRST, BATCH)
    first = [type(cell) for cell in cells]
    assert first.index(Rate) < first.index(Train) < first.index(Scale)
    sizes = {(cell.labels, cell.batch) for cell in cells if isinstance(cell, Rate) and not cell.real}
    assert sizes == {(labels, batch) for labels in (FIRST, 100_000, 10_000) for batch in (32, 128, 2048)}
    assert len(set(cells)) == len(cells)
    assert {type(cell) for cell in plan(parts=("train",))} == {Train}
    assert counts(16) == [1, 2, 4, 8, 16] and counts(6) == [1, 2, 4, 6] and counts(1) == [1]


def test_results_are_written_as_they_come_and_a_failure_is_one(tmp_path):
    bench = Bench("cpu", 1, 60.0, tmp_path / "device" / "a.jsonl", None, COMMON)
    bench.out.parent.mkdir()
    cells = [
        Rate("gpu", FULL, 600, 8, seconds=0.01),
        Rate("cores", "slide, per item", 600, 8, seconds=0.01),
        Rate("cores", "unknown", 600, 8),
        Rate("cores", "sampled, uniform", 600, 8, weights="bf16", seconds=0.01),
    ]
    measure(bench, iter(cells))
    found = device_results(tmp_path)
    assert [each["kind"] for each in found] == ["rate", "rate", "failed", "rate"]
    assert all(each["samples_per_second"] > 0 for each in found if each["kind"] == "rate")
    assert found[0]["card"] == "Some GPU" and "KeyError" in found[2]["why"]
    bench.seconds = 0.0
    measure(bench, iter(cells))
    assert device_results(tmp_path) == found, "no cell begins when time is over"


def test_settings_are_those_that_were_published():
    assert set(device.chosen(SLIDE)) - {"active"} == {"lr", "hashes", "tables", "uniform_share"}
    assert set(device.chosen(FULL)) == {"lr"}


def of_rate(place, layer, samples_per_second, labels=FIRST, batch=BATCH, **more):
    cell = {"kind": "rate", "place": place, "layer": layer, "labels": labels, "batch": batch}
    kinds = {"precision": "fp32", "weights": "fp32"} | more
    return cell | kinds | {"samples_per_second": samples_per_second} | COMMON


def of_train(place, layer, seconds, seed=0, **more):
    cell = {"kind": "train", "place": place, "layer": layer, "seed": seed, "labels": 21_025, "batch": BATCH}
    ended = {"time_to_target": seconds, "samples_to_target": seconds and 32_000, "samples": 32_000}
    known = {"precision": "fp32", "lr": 0.1, "target": 0.08, "train_seconds": seconds or 9.0}
    return cell | ended | known | more | COMMON


RECORDS = [
    of_rate("gpu", FULL, 40_000.0),
    of_rate("gpu", FULL, 80_000.0, precision="bf16"),
    of_rate("cores", SLIDE, 20_000.0),
    of_rate("cores", "slide, dwta", 60_000.0),
    of_rate("cores", "slide, dwta", 90_000.0, weights="bf16"),
    of_rate("cores", FULL, 1000.0),
    of_rate("gpu", FULL, 200_000.0, 10_000),
    of_rate("cores", SLIDE, 100_000.0, 10_000),
    of_train("gpu", FULL, 2.0),
    of_train("gpu", FULL, 4.0, 1),
    of_train("cores", SLIDE, 4.0),
    of_train("cores", SLIDE, 8.0, 1),
    of_train("cores", FULL, 40.0),
    of_train("cores", "in-batch", None),
    of_train("gpu", FULL, 1.5, 1000, batch=512),
]


def test_what_the_factors_of_the_abstract_become():
    """By hand: 60,000 over 40,000 and 100,000 over 200,000; twice as long; 60 times, and 10 times as fast."""
    said = device_words.finding(RECORDS)
    assert said == (
        "On 16 cores beside a GPU (Some GPU), hashing computes faster than the full layer on the GPU in 1 of 2 "
        "cells (0.5 to 1.5 times); to P@1 8.0% on the real records it takes 2 times as long "
        "(5.7 s to 2.8 s, 2 runs each)."
    )
    abstract = device_words.abstract(RECORDS)
    assert (
        "over the full layer on the GPU 1.5 times as many samples/s (670,091 labels, batch 128) and 0.5 times as "
        "fast to P@1 8.0% (real records); over the full layer on the same cores 60 times as many" in abstract
    )
    assert abstract.endswith("**No V100 has been measured.**") and "3.5 times as fast as TensorFlow" in abstract
    there = [{**each, "card": "Tesla V100-SXM2"} for each in RECORDS]
    assert "No V100" not in device_words.abstract(there)
    assert "Neither has been measured here" in device_words.abstract([])
    one = [each for each in RECORDS if each["labels"] == FIRST or each.get("seed") == 0]
    assert "hashing computes 1.5 times as many samples per second as the full layer on the GPU, at" in (
        device_words.finding(one)
    )
    assert "it takes 2 times as long (4.0 s to 2.0 s, one run each)" in device_words.finding(one)
    told = device_page.table(RECORDS)
    assert "V100 | 1.5 times the full layer on the GPU | 0.5 times as fast |" in told
    assert "the same cores | 60 times the full layer on the same cores | 10 times as fast |" in told
    assert "| 670,091 | 128 | 40,000 | 80,000 |" in told and "| 10,000 | 128 | 200,000 | - |" in told
    assert "| 16 cores | in-batch | 0.1 | missed | missed |" in told
    assert "full on the GPU 1.50 s (batch 512, learning rate 0.1)" in told


def test_layers_that_are_named_are_measured_alone():
    cells = list(plan(parts=(BY_SAMPLES,)))
    assert [cell.layer for cell in cells if device.wanted(cell, [FULL, SLIDE])] == [FULL, SLIDE, SLIDE]
    assert all(device.wanted(cell, None) for cell in cells)
    assert not device.wanted(Scale(FIRST, BATCH), [FULL])


def test_the_page_has_the_section_if_there_are_records(tmp_path):
    without = page([])
    assert "Beside a GPU" not in without
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / "1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in RECORDS))
    path = publish([], [], tmp_path / "results", beside=device_results(tmp_path))
    text = path.read_text()
    assert "## Beside a GPU" in text and "- On 16 cores beside" in text.split("\n\n")[3]
    assert publish([], [], tmp_path / "results").read_text() == text, "what was published stays"


def test_threads_have_a_table():
    cell = {"kind": "threads", "place": "cores", "labels": FIRST, "batch": BATCH} | COMMON
    rates = [cell | {"what": "SGD", "threads": n, "samples_per_second": 1000.0 * n} for n in (4, 2, 1)]
    built = [cell | {"what": "building the tables", "threads": 1, "seconds": 1.234}]
    told = device_page.table(rates + built)
    assert "| what | 1 | 2 | 4 |" in told and "| SGD | 1,000 /s | 2,000 /s | 4,000 /s |" in told
    assert "| building the tables | 1.23 s | - | - |" in told


def of_curve(layer, precisions, place="gpu", lr=0.05, hashed=None):
    """A point every 131,072 samples, which is a second."""
    points = [
        {"samples": 131_072 * k, "seconds": float(k), "p_at_1": p, "p_at_3": p / 2, "p_at_5": p / 4}
        | {"psp_at_1": p, "psp_at_5": p, **({"table_recall": 0.5} if hashed else {})}
        for k, p in enumerate(precisions, 1)
    ]
    cell = {"kind": "curve", "place": place, "layer": layer, "lr": lr, "hashed": hashed, "labels": 21_025}
    return cell | {"batch": 512, "precision": "fp32", "seed": 0, "points": points} | COMMON


TABLES = ["dwta", 4, 100, 0.5]
CURVES = [
    of_curve(FULL, (0.1, 0.2, 0.3)),
    of_curve(FULL, (0.2, 0.2, 0.2), lr=0.025),
    of_curve(SLIDE, (0.1, 0.28, 0.29), hashed=TABLES),
    of_curve("in-batch", (0.1, 0.12, 0.13)),
    of_rate("cores", SLIDE, 131_072.0, 21_025, 512, real=True, hashed=TABLES),
]


def test_the_later_target_is_a_share_of_the_best_of_the_full_layer():
    """By hand: 27%, which full has after 3 points and slide after 2; 262,144 samples take the cores 2 s."""
    told = "\n".join(curve_page.tables(CURVES))
    assert "27.0%" in told and "| full | 0.05 | 10.0% | 20.0% | 30.0% | 15.0% | 7.5% |" in told
    assert "| slide, dwta, K 4, L 100, uniform 0.5 | 0.05 |" in told and "| 262,144 | 2.0 | 2.0 |" in told
    assert "| in-batch |" in told and "| missed | - | - |" in told
    assert "to 90% of the best P@1 of the full layer (27.0%), it is 1.5 times as fast as the full layer" in (
        device_words.finding(CURVES)
    )


def test_curves_without_times_have_a_section_of_their_own():
    alone = [of_curve(FULL, (0.1, 0.2, 0.3), "cores"), of_curve(SLIDE, (0.1, 0.15), "cores", hashed=TABLES)]
    text = page([], beside=alone)
    assert "## Precisions over samples" in text and "Beside a GPU" not in text
    assert "up to 393,216 samples" in text and "| full | 10.0% | 20.0% | 30.0% | 15.0% | 7.5% |" in text
    assert "| slide, dwta, K 4, L 100, uniform 0.5 | 10.0% | 15.0% | - | - |" in text
    text = page([], beside=[*alone, of_curve("random-active", (0.1, 0.2), "cores")])
    assert (
        "Over 262,144 samples of the real records, at one learning rate, P@1 reaches 15.0% with hashing and 20.0%"
        in (text.split("\n\n")[3])
    )
    whole = [of_curve(FULL, (0.1, 0.2), "cores"), alone[1], of_curve("random-active", (0.1, 0.2), "cores")]
    assert "of the same size, and 20.0% with full (differences" in page([], beside=whole)
    assert "of the same size (differences" in text, "its curve ends elsewhere"
    assert "(differences below 1.1 points say nothing)" in text, "two times the root of 0.15 0.85 / 4,000"


def test_curves_of_cores_replace_those_of_their_layer_alone(tmp_path):
    """What else a machine with a GPU has measured stays; other records replace everything."""
    old = [*RECORDS, of_curve(FULL, (0.1, 0.2), "cores"), of_curve("in-batch", (0.1, 0.15, 0.3), "cores")]
    publish([], [], tmp_path, beside=old)
    longer = of_curve(FULL, (0.1, 0.2, 0.25), "cores")
    text_of = publish([], [], tmp_path, beside=[longer]).read_text()
    assert "| full | 10.0% | 20.0% | 25.0% |" in text_of and "| in-batch | 10.0% | 15.0% | 30.0% |" in text_of
    assert "## Beside a GPU" in text_of and "Ended early" not in text_of
    assert "## Precisions over samples" not in publish([], [], tmp_path, beside=RECORDS).read_text()


def test_curves_are_drawn_with_the_names_of_their_layers(tmp_path):
    layers = (FULL, "in-batch", "random-active", "sampled, uniform", "sampled, log-uniform")
    alone = [
        of_curve(name, [0.01 * k + 0.001 * i for k in range(1, 17)], "cores") for i, name in enumerate(layers)
    ]
    alone.append(of_curve(SLIDE, [0.01 * k for k in range(1, 17)], "cores", hashed=TABLES))
    text = publish([], [], tmp_path, beside=[*RECORDS, *alone]).read_text()
    assert "(slide/curves.svg)" in text
    drawn = (tmp_path / DATA / "curves.svg").read_text()
    assert len(drawn.encode()) < 40_000
    named = ["".join(each.itertext()) for each in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    ends = [
        f"{name}, {100 * record['points'][-1]['p_at_1']:.1f}%" for name, record in zip(layers, alone, strict=False)
    ]
    assert {*ends, "slide, dwta, K 4, L 100, uniform 0.5, 16.0%", "samples, thousands", "P@1, %"} <= set(named)
    publish([], [], tmp_path)
    assert (tmp_path / DATA / "curves.svg").read_text() == drawn, "the same data give the same bytes"


def test_every_published_curve_is_in_the_published_figure():
    results = ROOT / "docs" / "results" / DATA
    drawn = (results / "curves.svg").read_text()
    curves = [
        each for each in read(results / "device.jsonl") if (each["kind"], each["place"]) == ("curve", "cores")
    ]
    assert len(curves) >= 6
    for record in curves:
        assert f">{curve_page.title(record)}, {100 * curve_page.last(record):.1f}%<" in drawn


def test_the_published_page_follows_from_its_records():
    results = ROOT / "docs" / "results"
    assert text(results / DATA) == (results / PAGE).read_text(), "run `python -m benchmarks.slide publish`"
