"""Cost of simulated training: a run in virtual time beside EXO Gym, on the same model, data and machine.

    python -m benchmarks.simulators run --exogym CHECKOUT       measure, write docs/results/simulators.json
    python -m benchmarks.simulators publish                     write docs/results/simulators.md from it

CHECKOUT is a copy of github.com/exo-explore/gym; it needs tqdm, einops and psutil. Needs HOOKE_DATA; leave the
machine alone meanwhile. A rate is the difference of two runs of one program, one longer than the other, so that
starting, loading and compiling do not count. Seconds of a processor are those of all processes of the program.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT, commit

NODES, BATCH = 4, 16
SHORT, LONG = 100, 700
"""Steps of the two runs."""
METHODS = {"DDP": ("sync-sgd", {}), "DiLoCo, period 100": ("diloco", {"period": 100, "optimizer": "adamw"})}
"""What both simulate; the methods of the catalogue, which have the same equations."""
DATA = ROOT / "docs" / "results" / "simulators.json"
PAGE = DATA.with_suffix(".md")
Rates = dict[str, list[float]]


def main() -> int:
    """Measure or publish; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.simulators", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("run", "publish", "one"))
    parser.add_argument("--exogym", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--program", choices=PROGRAMS, help="of one")
    parser.add_argument("--method", choices=METHODS, help="of one")
    parser.add_argument("--steps", type=int, help="of one")
    options = parser.parse_args()
    if options.do == "one":
        PROGRAMS[options.program](options.method, options.steps)
        return 0
    if options.do == "run":
        if options.exogym is None or not (options.exogym / "exogym").is_dir():
            parser.error("--exogym is the folder of a checkout, with a folder `exogym` in it")
        DATA.write_text(json.dumps(measured(options.exogym, options.rounds), indent=1) + "\n")
    PAGE.write_text(page(json.loads(DATA.read_text())))
    print(PAGE.read_text())
    return 0


def measured(checkout: Path, rounds: int) -> dict[str, Any]:
    """Return the rates of both programs, in turns, with what they were measured on."""
    rates: dict[str, dict[str, Rates]] = {}
    for _ in range(rounds):
        for method in METHODS:
            for program in PROGRAMS:
                kept = rates.setdefault(method, {}).setdefault(program, {"wall": [], "processor": []})
                short, long = (_cost(program, method, steps, checkout) for steps in (SHORT, LONG))
                samples = (LONG - SHORT) * NODES * BATCH
                kept["wall"].append(samples / (long[0] - short[0]))
                kept["processor"].append(samples / (long[1] - short[1]))
                print(method, program, {name: round(values[-1]) for name, values in kept.items()}, flush=True)
    git = ["git", "-C", str(checkout), "rev-parse", "--short=10", "HEAD"]
    found = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    told = {"hardware": machine.hardware(), "commit": commit(), "exogym": found or "unknown", "unix": time.time()}
    return told | {"nodes": NODES, "batch": BATCH, "rates": rates}


def _cost(program: str, method: str, steps: int, checkout: Path) -> tuple[float, float]:
    """Return the seconds of a run by the clock, and of processors."""
    words = [sys.executable, "-m", "benchmarks.simulators", "one", "--program", program]
    words += ["--method", method, "--steps", str(steps)]
    paths = [str(ROOT), str(checkout.resolve())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{program}, {method}: ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hooke(method: str, steps: int) -> None:
    """Run a method of the catalogue in virtual time."""
    from hooke.catalogue.validation import validate_run
    from hooke.hardware.description import usable_cores
    from hooke.loop.train import run_spec_virtual

    name, parameters = METHODS[method]
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "mnist-lenet"},
        "algorithm": {"name": name, "parameters": {"lr": 0.001, **parameters}},
        "communication": {"collective": "tree"},  # with which it was measured
        "batch": BATCH,
        "workers": NODES,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": steps * NODES * BATCH},
        "evaluation": {"every": 10**9},
        "checkpoint": "never",
    }
    run_spec_virtual(validate_run(document), cores=usable_cores())


def exo_gym(method: str, steps: int) -> None:
    """Run EXO Gym on the same images, without evaluations or its probe of batch sizes."""
    import exogym.trainer as trainer  # type: ignore[import-not-found]
    import torch
    from exogym.strategy.diloco import DiLoCoStrategy  # type: ignore[import-not-found]
    from exogym.strategy.optim import OptimSpec  # type: ignore[import-not-found]
    from exogym.strategy.strategy import SimpleReduceStrategy  # type: ignore[import-not-found]
    from hooke.catalogue.workload import workload

    built: Any = workload("mnist-lenet")().build()
    batch = built.pick(range(built.train_size))
    data = torch.utils.data.TensorDataset(batch.inputs.clone(), batch.labels.clone())
    if method == "DDP":
        strategy = SimpleReduceStrategy(OptimSpec(torch.optim.SGD, lr=0.001))
    else:
        strategy = DiLoCoStrategy(OptimSpec(torch.optim.AdamW, lr=0.001), H=100)
    trainer._worker = on_this_machine
    trainer.Trainer(WithLoss(built.make()), data, data, device="cpu").fit(
        num_epochs=1, strategy=strategy, num_nodes=NODES, max_steps=steps, batch_size=BATCH,
        minibatch_size=BATCH, val_size=0, val_interval=10**9, run_name="one",
    )  # fmt: skip


class WithLoss(nn.Module):
    """A model with its loss, as EXO Gym expects: batch -> loss."""

    def __init__(self, model: nn.Module) -> None:
        """`model`: images -> logits."""
        super().__init__()
        self.model = model

    def forward(self, batch: Sequence[Tensor]) -> Tensor:
        """Return the mean cross-entropy of a batch of images and labels."""
        return nn.functional.cross_entropy(self.model(batch[0]), batch[1])


def on_this_machine(rank: int, config: Any, results: Any) -> None:
    """Be one node of EXO Gym, whose loopback interface has the name it has on macOS, `lo0`."""
    import exogym.trainer as trainer
    import torch
    import torch.distributed as dist

    def begin(backend: str, rank: int, world_size: int) -> None:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group(backend, rank=rank, world_size=world_size)

    torch.set_num_threads(1)
    work, trainer.init_process_group_portsafe = trainer._worker, begin
    work(rank, config, results)


PROGRAMS = {"Hooke": hooke, "EXO Gym": exo_gym}


def page(data: Mapping[str, Any]) -> str:
    """Return the page of these measurements."""
    lines = [
        "# Cost of simulated training",
        "",
        "<!-- written by `python -m benchmarks.simulators publish` -->",
        f"LeNet on MNIST, {data['nodes']} workers, batch {data['batch']}, fp32; "
        f"{machine.title_of(data['hardware'])}. Medians [least, most] of samples per second; "
        "starting and loading do not count, and neither program evaluates. *Per processor second* counts all "
        "processes of a program. Hooke's run is in virtual time, and its figures contain the simulated network; "
        f"EXO Gym ({data['exogym']}) has one process per worker, with one thread each.",
        "",
        "| what is simulated | program | samples per processor second | samples per second, all cores |",
        "|---|---|---|---|",
    ]
    for method, programs in data["rates"].items():
        for program, rates in programs.items():
            cells = (_told(rates[name]) for name in ("processor", "wall"))
            lines.append(f"| {method} | {program} | {' | '.join(cells)} |")
    for method, programs in data["rates"].items():
        ours, other = (statistics.median(programs[name]["processor"]) for name in ("Hooke", "EXO Gym"))
        lines += ["", f"{method}: Hooke trains {ours / other:.1f} times the samples per processor second."]
    return "\n".join([*lines, "", f"Commit {data['commit']}.", ""])


def _told(values: Sequence[float]) -> str:
    return f"{statistics.median(values):,.0f} [{min(values):,.0f}, {max(values):,.0f}]"


if __name__ == "__main__":
    sys.exit(main())
