"""Deliberate errors: shipped methods with one changed line, which the audit must detect.

The change is made in a copy of the method's file, which the product runs as a user method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from audit import judge
from audit.cases import SCARCE, Case
from audit.judge import Row
from audit.product import HERE, Failed, noted, run

ALGORITHMS = HERE.parent / "engine" / "hooke" / "algorithms"


@dataclass(frozen=True)
class Wrong:
    """A method with one line changed."""

    of: str
    cls: str
    mistake: str
    before: str
    after: str
    case: Case
    """Its settings; the method that it names is the one whose equations are expected."""


def _plain(method: str, **settings: Any) -> Case:
    return Case(method, settings)


WRONG = (
    Wrong(
        "slowmo",
        "Slowmo",
        "sign of the slow step",
        "alpha=-self.slow_lr",
        "alpha=self.slow_lr",
        _plain("slowmo", period=4),
    ),
    Wrong(
        "async-easgd",
        "AsyncEASGD",
        "answers with the new center",
        "            r.reply(i, c)\n            spring.pull(c, x, rows=r.rows)",
        "            spring.pull(c, x, rows=r.rows)\n            r.reply(i, c)",
        _plain("async-easgd", alpha=0.3),
    ),
    Wrong(
        "local-sgd",
        "LocalSGD",
        "averages a step late",
        "(t + 1) %",
        "t %",
        _plain("local-sgd", period=5),
    ),
    *(
        Wrong(
            "sync-easgd",
            "SyncEASGD",
            mistake,
            before,
            after,
            case,
        )
        for case in SCARCE
        for mistake, before, after in (
            (
                "pulls whole vectors",
                "sums.begin(x, step.moved(), behind))\n            g =",
                "sums.begin(x, None, behind))\n            g =",
            ),
            (
                "pulls the workers in all rows",
                "spring.pull(x, packed(c, rows), rows=rows)",
                "spring.pull(x, c)",
            ),
        )
    ),
)


def agrees(row: Row) -> bool:
    """Return whether a run was compared with its equations and no difference was too large."""
    found = [value for value in (row.center, row.weights, row.points) if value is not None]
    return bool(found) and max(found) <= row.tolerance


def find(wrong: Wrong, place: Path, device: str = "cpu") -> Row:
    """Return the row of a run with this error, with a fault if it was not detected or could not be made."""
    case = replace(wrong.case, method=f"wrong-{wrong.of}", worlds=("virtual",), asks="", device=device)
    row, faults = Row(case, "virtual"), []
    source = (ALGORITHMS / f"{wrong.of.replace('-', '_')}.py").read_text()
    if source.count(wrong.before) != 1 or source.count(f"class {wrong.cls}(") != 1:
        row.faults.append(f"{wrong.of} reads otherwise now: the audit's wrong copy of it must be made anew")
        return row
    home = place / "wrong" / f"{wrong.case.key}-{wrong.mistake.replace(' ', '-')}"
    own = home / "algorithms"
    own.mkdir(parents=True)
    name = "Wrong" + "".join(part.capitalize() for part in wrong.of.split("-"))
    text = source.replace(wrong.before, wrong.after).replace(f"class {wrong.cls}(", f"class {name}(")
    (own / f"wrong_{wrong.of.replace('-', '_')}.py").write_text(text)
    try:
        found = run(noted(case.spec("virtual"), home / "notes"), home / "run", path=str(own.parent))
        judge.equations(case, found, row, wrong.case.method)
    except (Failed, OSError, ValueError) as error:
        row.faults.append(f"no result: {error}")
        return row
    if not row.faults or agrees(row):
        faults.append(f"a mistake ({wrong.mistake}) was made and not found")
    row.faults = faults
    return row
