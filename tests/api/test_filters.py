"""The filter language: what is read, what is refused with which words, and SQL against a plain evaluation."""

import operator
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hooke.spec.states import TERMINAL, RunState
from hooke_api.experiments.service import derived_state
from hooke_api.filters.fields import FIELDS, METRICS, Kind
from hooke_api.filters.language import All, Condition, FilterError, Not, Some, conditions, parse
from hooke_api.filters.sql import condition
from hooke_api.models import Experiment, ExperimentTag, Project, Run
from sqlalchemy import select

from tests.api.databases import ONE_KIND

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def one(text):
    tree = parse(text)
    assert isinstance(tree, Condition)
    return tree.field.name, tree.operator, tree.values


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("state = running", ("state", "=", ("running",))),
        ('algorithm ~ "easgd"', ("algorithm", "~", ("easgd",))),
        ("workload!=digits-mlp", ("workload", "!=", ("digits-mlp",))),
        ("test_accuracy.max > 0.98", ("test_accuracy.max", ">", (0.98,))),
        ("Test_Accuracy.MAX >= -1e-3", ("test_accuracy.max", ">=", (-0.001,))),
        ('tag in (a, \'b c\', "d\\"e")', ("tag", "in", ("a", "b c", 'd"e'))),
        ("starred", ("starred", "=", (True,))),
        ("archived = FALSE", ("archived", "=", (False,))),
        ("created > -7d", ("created", ">", (-timedelta(days=7),))),
        ("created <= 2026-05-01", ("created", "<=", (datetime(2026, 5, 1, tzinfo=UTC),))),
        ("created < 2026-05-01T12:00+02:00", ("created", "<", (datetime(2026, 5, 1, 10, tzinfo=UTC),))),
        ('"some words"', ("name", "~", ("some words",))),
    ],
)
def test_a_condition(text, read):
    assert one(text) == read


def test_and_binds_more_than_or_and_not_most():
    tree = parse("starred or not archived and state = failed")
    assert isinstance(tree, Some)
    assert isinstance(tree.parts[1], All)
    assert isinstance(tree.parts[1].parts[0], Not)
    assert isinstance(parse("(starred or archived) and protected"), All)
    assert [each.field.name for each in conditions(tree)] == ["starred", "archived", "state"]


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("algorthm = x", 1, "no field is called 'algorthm'; did you mean algorithm?"),
        ("easgd", 1, 'name ~ "easgd" looks for names'),
        ("state = runing", 9, "state is never 'runing'; did you mean running?"),
        ("state ~ run", 7, "state cannot be compared by '~'; use =, !=, in"),
        ("state", 6, "the end where an operator should be"),
        ("state =", 8, "the end where a value should be"),
        ("test_accuracy > 0.9", 1, "write test_accuracy.max, test_accuracy.min, test_accuracy.last"),
        ("runs > many", 8, "a number such as 0.98, not 'many'"),
        ("runs > 1e999", 8, "a number up to 1e308"),
        ("created > yesterday", 11, "'yesterday' is not a time; write 2026-11-30"),
        ("starred = maybe", 11, "neither true nor false"),
        ("(starred", 9, "the end where ) closes column 1"),
        ("starred)", 8, "')' follows a complete condition; join two with and, or"),
        ("starred starred", 9, "join two with and, or"),
        ("starred && archived", 9, "'&' means nothing here; write and"),
        ('name = "x', 8, 'this string has no end; close it with "'),
        ("and starred", 1, "'and' where a field should be"),
        ("tag in x", 8, "'x' where ( should be; tag in (a, b)"),
        ("tag in (a", 10, "the end where , or ) should be"),
        ("not " * 30 + "starred", 81, "nested deeper than 20"),
        (" or ".join(["starred"] * 51), 551, "more than 50 conditions"),
        ("x" * 1001, 1001, "at most 1000 characters"),
        ("tag in (" + ",".join(["a"] * 51) + ")", 5, "more than 50 values"),
    ],
)
def test_a_fault_is_told_with_its_column(text, column, words):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.column == column
    assert words in str(caught.value)


@ONE_KIND
def test_a_fault_is_a_problem_of_the_request(service):
    answer = service.client.get("/experiments", params={"filter": "state = runing"})
    assert answer.status_code == 422
    fault = {"pointer": "query/filter", "message": "column 9: state is never 'runing'; did you mean running?"}
    assert answer.json()["errors"] == [fault]


@dataclass
class Made:
    """An experiment as plain values."""

    row: dict
    tags: list = field(default_factory=list)
    runs: list = field(default_factory=list)
    project: str = "default"


def evaluate(tree, made):
    """The meaning of a tree, without a database."""
    if isinstance(tree, Not):
        return not evaluate(tree.part, made)
    if isinstance(tree, All):
        return all(evaluate(part, made) for part in tree.parts)
    if isinstance(tree, Some):
        return any(evaluate(part, made) for part in tree.parts)
    if tree.operator in ("!=", "!~"):
        return not any(holds(value, tree.operator[1], tree.values[0]) for value in values_of(tree.field, made))
    if tree.operator == "in":
        return any(value == given for value in values_of(tree.field, made) for given in tree.values)
    return any(holds(value, tree.operator, tree.values[0]) for value in values_of(tree.field, made))


def holds(value, how, given):
    given = NOW + given if isinstance(given, timedelta) else given
    compared = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return given.lower() in value.lower() if how == "~" else compared[how](value, given)


def values_of(each, made):
    """All values of a field, as many as it has."""
    name = each.name
    if name == "tag":
        return made.tags
    if name == "project":
        return [made.project]
    if name in ("algorithm", "variant", "cluster"):
        return [run[name] for run in made.runs]
    if name == "runs":
        return [len(made.runs)]
    if name == "state":
        counts, reported = {}, {}
        for run in made.runs:
            counts[run["state"]] = 1
            if run["rung"] is None:
                reported[run["state"]] = 1
        return [derived_state(counts, made.row["planning"], reported)]
    if "." not in name:
        return [made.row["created_at" if name == "created" else name]]
    metric, _, part = name.partition(".")
    known = [run for run in made.runs if run["rung"] is None and run[metric] is not None]
    if part == "last":
        ended = [run for run in known if run["finished_at"] is not None]
        return [max(ended, key=lambda run: (run["finished_at"], run["number"]))[metric]] if ended else []
    return [(max if part == "max" else min)(run[metric] for run in known)] if known else []


WORDS = ("Sync EASGD", "sync-easgd", "local-sgd", "100%_a", "x")


def random_experiment(random_, number):
    choose = random_.choice
    made = Made(
        {
            "id": f"exp_{number:03}",
            "number": number,
            "name": choose(WORDS),
            "workload": choose(WORDS),
            "planning": random_.random() < 0.1,
            "created_at": NOW - timedelta(hours=random_.randrange(1, 400)),
            **{flag: random_.random() < 0.4 for flag in ("starred", "archived", "protected")},
        },
        sorted({choose(WORDS) for _ in range(random_.randrange(3))}),
        project=choose(("default", "local-sgd", "x")),
    )
    states = random_.choices(list(RunState), k=2)
    for count in range(random_.randrange(5)):
        state = choose(states)
        figures = {name: choose((None, 0.0, 0.5, 0.9, 0.98)) for name in METRICS}
        figures |= {"clock": choose((0.0, 2.5)), "samples": choose((0, 64))}
        made.runs.append(
            {
                "id": f"run_{number:03}_{count}",
                "experiment_id": made.row["id"],
                "number": count + 1,
                **{name: choose(WORDS) for name in ("variant", "algorithm", "cluster")},
                "rung": choose((None, None, 0)),
                "state": state,
                "finished_at": NOW - timedelta(minutes=choose((1, 2, 3))) if state in TERMINAL else None,
                **figures,
            }
        )
    return made


def random_filter(random_, depth=0):
    choose = random_.choice
    kind = random_.random()
    if depth < 4 and kind < 0.5:
        parts = [random_filter(random_, depth + 1) for _ in range(random_.randrange(1, 4))]
        return f"({choose((' and ', ' or ')).join(parts)})" if kind < 0.35 else f"not {parts[0]}"
    chosen = choose(list(FIELDS.values()))
    how = choose(chosen.operators)
    values = {
        Kind.TEXT: lambda: f'"{choose((*WORDS, "sgd", "EASGD", "%", "_"))}"',
        Kind.CHOICE: lambda: choose(chosen.values),
        Kind.NUMBER: lambda: choose(("0", "0.5", "0.9", "2", "64", "-1")),
        Kind.FLAG: lambda: choose(("true", "false")),
        Kind.TIME: lambda: choose(("-7d", "-36h", "2026-05-25", "2026-05-28T03:00")),
    }[chosen.kind]
    return f"{chosen.name} {how} " + (f"({values()}, {values()})" if how == "in" else values())


def store(database, made):
    blank = {"created_by": "me"}
    projects = {"default": "prj_default", "local-sgd": "prj_l", "x": "prj_x"}
    text = dict.fromkeys(("description", "baseline", "fingerprint"), "x")
    figures = {"host": "local", "simulated": False, "workers": 1, "servers": 0, "seed": 1, "spec": {}, "budget": 1}
    with database.write() as session:
        for name in ("local-sgd", "x"):
            session.add(Project(id=projects[name], name=name, created_at=NOW))
        session.flush()
        for each in made:
            own = {"project_id": projects[each.project], "variants": [], "clusters": [], "spec": {}}
            session.add(Experiment(**blank, **text, **own, **each.row))
        session.flush()
        for each in made:
            session.add_all(ExperimentTag(experiment_id=each.row["id"], tag=tag) for tag in each.tags)
            session.add_all(Run(**blank, fingerprint="x", created_at=NOW, **figures, **run) for run in each.runs)


def test_the_query_means_what_the_language_says(database, kind):
    """Random filters over random experiments: the rows that the database finds are those of a plain evaluation."""
    random_ = random.Random(52)
    made = [random_experiment(random_, number) for number in range(40)]
    store(database, made)
    filters, found_some = (120 if kind == "sqlite" else 30), 0
    with database.read() as session:
        for _ in range(filters):
            text = random_filter(random_)
            tree = parse(text)
            query = select(Experiment.id).where(condition(tree, NOW)).order_by(Experiment.number)
            found = session.scalars(query).all()
            assert found == [each.row["id"] for each in made if evaluate(tree, each)], text
            found_some += 0 < len(found) < len(made)
    assert found_some > 0.4 * filters, "most filters tell experiments apart"


def test_values_are_bound_and_never_part_of_the_statement(database):
    text = "x' OR 1=1 --"
    query = select(Experiment.id).where(condition(parse(f'name = "{text}" or tag ~ "{text}"'), NOW))
    assert text not in str(query.compile(database.engine))
    with database.read() as session:
        assert session.scalars(query).all() == []
