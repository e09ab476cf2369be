"""The search `optuna`: a tree-structured Parzen estimator proposes the next settings from the results so far.

Source: J. Bergstra et al., "Algorithms for hyper-parameter optimization", NeurIPS 2011; the sampler of Optuna. The
first half of the trials are quasi-random points; then batches of BATCH trials follow, each after all trials before
it have ended. A batch is a function of these trials: the study is made anew for it, with a sampler whose seed is
their number. The estimator uses only the order of its objective, so the objective is the rank.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hooke.catalogue.joined import Searchable, given
from hooke.catalogue.searched import with_defaults
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.tuning.settings import ATTEMPTS, free_spaces, settings

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution

BATCH = 4
"""Trials proposed at once: they can run at the same time."""
MISSING = (
    "this search needs the package `optuna`, which is not installed where experiments are planned: install "
    "`hooke[optuna]` there, or choose `quasi-random` or `halving`"
)


def installed() -> bool:
    """Return whether Optuna can be imported here."""
    return importlib.util.find_spec("optuna") is not None


def quasi_random_trials(trials: int) -> int:
    """Return how many of the trials are points of the sequence, before the first proposal."""
    return math.ceil(trials / 2)


def proposals(
    count: int,
    variant: Variant,
    offer: Searchable,
    workers: int,
    tried: Sequence[Mapping[str, Any]],
    ranking: Sequence[int],
) -> list[dict[str, Any]]:
    """Return up to `count` settings that have not been tried; fewer if the space has no others that can run.

    What the estimator proposes twice, as it does in a small space, is replaced by the next points of the sequence
    of the search `quasi-random`, so that every variant has equally many trials.

    `tried`: the settings of all trials, which have ended; `ranking`: their numbers from 1, the best first. A trial
    that is not ranked counts as the worst.
    """
    spaces = free_spaces(variant, offer)
    start = with_defaults(given(variant, offer), offer, spaces)
    if not spaces:
        return []
    study = _study(spaces, tried, ranking)
    found: list[dict[str, Any]] = []
    for _ in range(ATTEMPTS * count):
        if len(found) == count:
            break
        trial = study.ask()
        resolved, faults = offer.resolve(_suggested(start, spaces, trial))
        if faults or offer.faults(resolved, workers) or resolved in found or resolved in tried:
            study.tell(trial, state=_failed())
        else:
            found.append(resolved)
    if len(found) < count:
        found += settings(count - len(found), variant, offer, workers, [*tried, *found], passed=0)
    return found


def _study(spaces: Mapping[str, Space], tried: Sequence[Mapping[str, Any]], ranking: Sequence[int]) -> Study:
    import optuna  # seconds to import, and needed by this search only

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=len(tried), n_startup_trials=1, constant_liar=True)
    study = optuna.create_study(sampler=sampler, direction="minimize")
    places = {trial: place for place, trial in enumerate(ranking, 1)}
    for number, setting in enumerate(tried, 1):
        active = {name: space for name, space in spaces.items() if space.applies(setting)}
        study.add_trial(
            optuna.create_trial(
                params={name: _place(space, setting.get(name)) for name, space in active.items()},
                distributions={name: _distribution(space) for name, space in active.items()},
                value=float(places.get(number, len(tried) + 1)),
            )
        )
    return study


def _distribution(space: Space) -> BaseDistribution:
    """Return that of an index for choices without an order, otherwise of a share of the space, on its scale."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if space.choices is not None and not space.ordered:
        return CategoricalDistribution(list(range(len(space.choices))))
    return FloatDistribution(0.0, 1.0)


def _place(space: Space, value: Any) -> float | int:
    """Return where a value lies, in the terms of the distribution."""
    if space.choices is not None and not space.ordered:
        return space.choices.index(value)
    share = space.share(value)
    return 0.5 if share is None else share


def _suggested(start: Mapping[str, Any], spaces: Mapping[str, Space], trial: Trial) -> dict[str, Any]:
    values = dict(start)
    for name, space in spaces.items():
        if not space.applies(values):
            continue
        if space.choices is not None and not space.ordered:
            values[name] = space.choices[int(trial.suggest_categorical(name, list(range(len(space.choices)))))]
        else:
            values[name] = space.at(trial.suggest_float(name, 0.0, 1.0))
    return values


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL
