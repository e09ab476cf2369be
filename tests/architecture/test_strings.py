"""scripts/strings: the texts that people read, in one list, and their wording."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT

MODULE = '''
"""What the module does."""

import re

import typer

NAME = re.compile("two words")
LONG = "one text that goes " "on in the next line"


@app.command()
def stop(
    force: Annotated[bool, typer.Option("--force", help="Now.")] = False,
    kind: Literal["not this one"] | None = None,
) -> None:
    """End it, at once."""


def check(found: dict[str, int], more: bool) -> None:
    """Say nothing of this."""
    if found["a b"] == "nor of this":
        raise SpecError(f"{found['a']:>4} run{'s' if more else ''} of {len(found)}: end one")
    raise RuntimeError("never seen by users")
'''
READ_OF_MODULE = [
    (9, "one text that goes on in the next line"),
    (14, "Now."),
    (17, "End it, at once."),
    (23, "{found['a']} run{s | } of {len(found)}: end one"),
]
"""By hand."""

SCREEN = """
import { Button } from "@mantine/core";

const KIND: "not read" | "either" = "either";
const LABELS = [{ key: "my key", label: "waiting" }];

export function Screen({ count, who }: Props) {
  const words = `${count} ${count === 1 ? "run" : "runs"} wait`;
  if (who === "nobody at all") throw new Error("There is nobody.");
  return (
    <section className="wide and tall" aria-label="Runs" data-testid="all runs">
      <p>
        Started by <strong>{who}</strong>,{" "}
        {count > 0 && <em>who waits</em>}.
      </p>
      <Button title={count > 0 ? "Ends all of them" : undefined} onClick={() => say("It is over.")}>
        Cancel
      </Button>
      {words}
      <svg viewBox="0 0 12 12">
        <path d="M0 0 L12 12" style={{ font: "12px system sans" }} />
      </svg>
    </section>
  );
}
"""
READ_OF_SCREEN = [
    (5, "waiting"),
    (8, "{count} {run | runs} wait"),
    (9, "There is nobody."),
    (11, "Runs"),
    (13, "Started by {who}, {who waits | }."),
    (16, "Ends all of them"),
    (16, "It is over."),
    (17, "Cancel"),
]
"""By hand."""

KNOWN = {
    "frontend/src/features/new-experiment/faults.ts": "Fix {count} {problem | problems} to start",
    "frontend/src/features/experiment/answer.ts": "Needs {LEAST_PAIRS} finished seed pairs; has {pairs}",
    "frontend/src/app/not-found.tsx": "Page not found",
    "frontend/src/features/people/sign-in-screen.tsx": "Sign in to Hooke",
    "frontend/src/features/experiments/experiments-screen.tsx": "The experiments could not be loaded.",
    "frontend/src/lib/ui/states.ts": "Waits in the queue of its cluster.",
    "engine/hooke/cli/runs.py": "List the runs of an experiment, or of all that fit a filter, with state, attempt "
    "and figures.",
    "engine/hooke/workloads/digits_mlp.py": "First hidden layer",
    "engine/hooke/readers/places.py": "{workload} reads {what} from files, and HOOKE_DATA is not set. {put}, "
    "and set HOOKE_DATA to the folder that holds it",
    "api/hooke_api/base/errors.py": "Too many requests",
}


def strings(*arguments: str | Path, status: int = 0) -> str:
    """Return what the program prints."""
    command = [sys.executable, ROOT / "scripts/strings", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def texts(listed: str) -> dict[str, list[tuple[int, str]]]:
    """Return the lines of each file of a list."""
    found: dict[str, list[tuple[int, str]]] = {}
    name = ""
    for line in listed.splitlines():
        if line.startswith(" "):
            number, text = line.split(maxsplit=1)
            found[name].append((int(number), text))
        elif line and not line.startswith("# "):
            name = line
            found[name] = []
    return found


@pytest.mark.parametrize(
    ("name", "content", "read"), [("one.py", MODULE, READ_OF_MODULE), ("one.tsx", SCREEN, READ_OF_SCREEN)]
)
def test_of_a_file_it_lists_what_people_read(tmp_path, name, content, read):
    file = tmp_path / name
    file.write_text(content)
    assert texts(strings(file)) == {str(file): read}


def test_it_lists_the_whole_product_in_the_order_of_a_visit(tmp_path):
    strings("--to", tmp_path / "strings.txt")
    listed = (tmp_path / "strings.txt").read_text()
    found = texts(listed)
    said = {name: {text for _, text in lines} for name, lines in found.items()}
    assert {name: text for name, text in KNOWN.items() if text not in said.get(name, ())} == {}
    headings = [line for line in listed.splitlines() if line.startswith("# ")]
    assert headings[0] == "# Dashboard: frame"
    assert headings.index("# Dashboard: experiment") < headings.index("# Command line") < headings.index("# API")
    assert len(headings) == len(set(headings))
    assert not any("lib/client" in name for name in found), "what is generated"


def test_a_text_that_is_worded_otherwise_is_found(tmp_path):
    """`make check` calls this over everything."""
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text('\nraise SpecError(f"{name} is no number: give one")\n')
    good.write_text('raise SpecError(f"there is no number {name}: give one")\n')
    assert strings("--check", bad, status=1).startswith(f"{bad}:2: 'is no number': say is not a ")
    assert strings("--check", good) == ""
