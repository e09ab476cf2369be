"""The search spaces with which an experiment was begun: all of its trials have them, whatever is declared by then.

They are part of the specification once an experiment is stored. Of one that was stored before there were any in
specifications, its trials tell them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hooke.catalogue.joined import Searchable
from hooke.spec.spaces import Space
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.tuning.continued import Earlier, Tried

FIXED, FIXED_NUMBERS = 6, 2
"""Trials with one value from which on a parameter was not searched; the latter of an interval of any numbers."""
Spaces = Mapping[str, Space]
"""Parameter -> its space."""


def in_both(before: Spaces | None, now: Spaces) -> Spaces:
    """Return the spaces of parameters that have one in both; None: there is no other. Clusters search alike."""
    return now if before is None else {name: space for name, space in before.items() if name in now}


def spaces_of(algorithm: str, now: Spaces, experiments: Sequence[Earlier]) -> tuple[Spaces, bool]:
    """Return the spaces of an algorithm in an experiment, and whether its searches have been begun with them.

    `now`: those that it declares, for searches that are begun. `experiments`: the one that is planned, and before
    it those that it continues, the first one first, each with its trials so far.
    """
    for each in reversed(experiments):
        if each.spec.tuning and algorithm in each.spec.tuning.spaces:
            return each.spec.tuning.spaces[algorithm], True
    made = [
        (variant, number, trial.parameters)
        for each in experiments
        for variant in each.spec.variants
        if variant.algorithm == algorithm
        for where, trials in each.tried.items()
        if where[0] == variant.name
        for number, trial in trials.items()
    ]
    return (_of_trials(now, made), True) if made else (now, False)


def _of_trials(now: Spaces, trials: Sequence[tuple[Variant, int, Mapping[str, Any]]]) -> Spaces:
    """Return the spaces that trials show: those declared now, of parameters that they have, with all values.

    Trials of one number, of several variants or places, count once: they may be one point of the sequence.
    """
    found = {}
    for name, space in now.items():
        had = [
            (number, values[name])
            for variant, number, values in trials
            if name in values and name not in variant.parameters and name not in variant.search
            if space.applies(values)
        ]
        values_had = [value for _, value in had]
        enough = FIXED_NUMBERS if space.choices is None and not space.integer else FIXED
        fixed = len(dict(had)) >= enough and all(value == values_had[0] for value in values_had)
        if not fixed and any(name in values for *_, values in trials):
            found[name] = _with(space, values_had)
    return found


def _with(space: Space, values: Sequence[Any]) -> Space:
    """Return a space that has these values, too; as it is, where it cannot."""
    outside = [value for value in values if space.position(value) is None]
    if not outside:
        return space
    try:
        more: dict[str, Any] = {"choices": list(dict.fromkeys([*(space.choices or ()), *outside]))}
        if space.low is not None and space.high is not None:
            ends = [space.low, space.high, *map(float, outside)]
            more = {"low": min(ends), "high": max(ends)}
        return Space.model_validate(space.model_dump() | more)
    except (TypeError, ValueError):
        return space


def completed(trials: Mapping[int, Tried], offer: Searchable) -> list[dict[str, Any]]:
    """Return the settings of trials, by number, with the defaults of parameters that the method got later."""
    found, whole = list[dict[str, Any]](), dict[frozenset[str], bool]()
    for number in sorted(trials):
        had = trials[number].parameters
        if (names := frozenset(had)) not in whole:
            whole[names] = offer.resolve(had)[0].keys() <= names
        found.append(had if whole[names] else {**offer.resolve(had)[0], **had})
    return found


def with_spaces(
    spec: ExperimentSpec,
    spaces: Mapping[str, Spaces],
    now: Mapping[str, Spaces],
    begun: Sequence[str],
    earlier: Sequence[Earlier] = (),
    *,
    stored: bool = False,
) -> ExperimentSpec:
    """Return a specification with the spaces of its algorithms, so that they stay.

    `spaces`: of each algorithm of its variants; `now`: those that it declares; `begun`: the algorithms whose
    searches were begun before. Others are told as later ones, if the spaces of those have changed since; so are
    those that were later ones in `earlier`, the experiments that it continues. Algorithms are told as given ones
    whose spaces the document has and nobody declares. `stored`: the experiment has trials, so that they were told
    when it was submitted.
    """
    if spec.tuning is None:
        return spec
    by_document = _given(spec, now, earlier, stored)
    changed = any(dict(spaces[name]) != dict(now[name]) for name in begun if name not in by_document)
    told = {name for each in (spec, *(e.spec for e in earlier)) if each.tuning for name in each.tuning.later}
    later = [name for name in spaces if name in told or (changed and name not in begun)]
    later = later if len(later) < len(spaces) else []  # later than no other one
    given = [name for name in spaces if name in by_document]
    update = {"spaces": {name: dict(of) for name, of in spaces.items()}, "later": later, "given": given}
    return spec.model_copy(update={"tuning": spec.tuning.model_copy(update=update)})


def _given(spec: ExperimentSpec, now: Mapping[str, Spaces], earlier: Sequence[Earlier], stored: bool) -> set[str]:
    """Return the algorithms whose spaces a document gave: neither declared, nor those of an earlier experiment."""
    tunings = [each.tuning for each in (spec, *(e.spec for e in earlier)) if each.tuning]
    found = {name for each in tunings for name in each.given}
    if spec.tuning and not stored:
        for name, own in spec.tuning.spaces.items():
            known = [now.get(name), *(each.spaces.get(name) for each in tunings[1:])]
            if not any(each is not None and dict(each) == own for each in known):
                found.add(name)
    return found
