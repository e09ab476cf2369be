"""The search `optuna`: one of Optuna's samplers proposes settings by ask-and-tell.

    tpe     tree-structured Parzen estimator (J. Bergstra et al., "Algorithms for hyper-parameter optimization",
            NeurIPS 2011)
    gp      Gaussian process, expected improvement of a batch (S. Ament et al., arXiv 2310.20708)
    random  uniform points
    qmc     points of a scrambled Sobol' sequence

The first two learn: half of the trials are points of the sequence of `quasi-random`; then batches of BATCH trials
follow, each after all trials before it have ended. The others do not: all their trials are made at once. What is
proposed is a function of the trials before: the study is made anew, with a sampler whose seed is their number
(qmc: whose sequence goes on after as many points). The objective is the rank, which has no infinities.
"""

from __future__ import annotations

import importlib.util
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hooke.catalogue.joined import JoinedOffer, Searchable, given
from hooke.catalogue.searched import with_defaults
from hooke.errors import Fault
from hooke.spec.spaces import Space
from hooke.spec.specification import Variant
from hooke.spec.tuning import Sampler, Tuning
from hooke.tuning.settings import ATTEMPTS, SCRAMBLE, free_spaces, settings

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

BATCH = 4
"""Trials proposed at once: they can run at the same time."""
LEARNING: tuple[Sampler, ...] = ("tpe", "gp")
"""Samplers that learn from the trials before."""
FLAT: tuple[Sampler, ...] = ("gp", "qmc")
"""Samplers of points with a coordinate for every parameter, also where its condition does not hold."""
TRIES: dict[Sampler, int] = {"tpe": ATTEMPTS, "gp": 1, "random": ATTEMPTS, "qmc": ATTEMPTS}
"""Points drawn for a trial, at most. A Gaussian process takes long for each, and repeats itself."""
NEEDED: dict[Sampler, tuple[str, ...]] = {"tpe": (), "gp": ("scipy", "torch"), "random": (), "qmc": ("scipy",)}
"""Packages beside `optuna`."""
KEPT = 256
_PROPOSED: dict[str, list[dict[str, Any]]] = {}
"""Up to KEPT batches that were proposed lately."""
MISSING = (
    "this search needs the package `optuna`, which is not installed where experiments are planned: pip install -c "
    "constraints.txt -e 'engine[optuna]' in the clone of Hooke there, or choose `quasi-random` or `halving`"
)


def lacking(tuning: Tuning) -> Fault | None:
    """Return what prevents this search here: a package that is not installed."""
    if tuning.search != "optuna":
        return None
    if not installed("optuna"):
        return Fault("/tuning/search", MISSING)
    if missing := [name for name in NEEDED[tuning.sampler] if not installed(name)]:
        names = " and ".join(f"`{name}`" for name in missing)
        why = f"the sampler {tuning.sampler} needs {names} where experiments are planned"
        return Fault("/tuning/sampler", f"{why}: install it there, or choose tpe")
    return None


def installed(package: str = "optuna") -> bool:
    """Return whether a package can be imported here."""
    return importlib.util.find_spec(package) is not None


def waits(tuning: Tuning) -> bool:
    """Return whether trials depend on the results of others."""
    return tuning.search == "optuna" and tuning.sampler in LEARNING


def first_settings(
    tuning: Tuning, variant: Variant, offer: Searchable, workers: int, before: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the settings that need no results: half of them, or with a sampler that does not learn all."""
    if waits(tuning):
        return settings(math.ceil(tuning.trials / 2), variant, offer, workers, before)
    if not free_spaces(variant, offer):
        return settings(tuning.trials, variant, offer, workers, before)
    return proposals(tuning.sampler, tuning.trials, variant, offer, workers, before, ())


def proposals(
    sampler: Sampler,
    count: int,
    variant: Variant,
    offer: Searchable,
    workers: int,
    tried: Sequence[Mapping[str, Any]],
    ranking: Sequence[int],
) -> list[dict[str, Any]]:
    """Return up to `count` settings that have not been tried; fewer if the space has no others that can run.

    What is proposed twice, as in a small space, is replaced by the next points of the sequence of the search
    `quasi-random`, so that every variant has equally many trials.

    `tried`: the settings of all trials, which have ended; `ranking`: their numbers from 1, the best first. A trial
    that is not ranked counts as the worst.
    """
    spaces = free_spaces(variant, offer)
    start = with_defaults(given(variant, offer), offer, spaces)
    if not spaces:
        return []
    study = _study(sampler, spaces, tried, ranking)
    found: list[dict[str, Any]] = []
    for _ in range(TRIES[sampler] * count):
        if len(found) == count:
            break
        trial = study.ask()
        resolved, faults = offer.resolve(_suggested(start, spaces, trial, sampler in FLAT))
        if faults or offer.faults(resolved, workers) or resolved in found or resolved in tried:
            study.tell(trial, state=_failed())
        else:
            found.append(resolved)
    if len(found) < count:
        found += settings(count - len(found), variant, offer, workers, [*tried, *found], passed=0)
    return found


def remembered(
    sampler: Sampler,
    count: int,
    variant: Variant,
    offer: Searchable,
    workers: int,
    tried: Sequence[Mapping[str, Any]],
    ranking: Sequence[int],
) -> list[dict[str, Any]]:
    """Return `proposals`, from memory where the same were asked for lately: a planner asks before it locks."""
    spaces = free_spaces(variant, offer)
    about = [variant.algorithm, spaces, with_defaults(given(variant, offer), offer, spaces), workers]
    if isinstance(offer, JoinedOffer):  # which settings can run depends on both, and on their sources
        about += [offer.chosen, offer.workload.hash, offer.method.hash]
    key = json.dumps([sampler, count, *about, tried, ranking], default=str)
    found = _PROPOSED.get(key)
    if found is None:
        found = proposals(sampler, count, variant, offer, workers, tried, ranking)
        if len(_PROPOSED) >= KEPT:
            _PROPOSED.clear()  # also while another thread asks, which has what it found
        _PROPOSED[key] = found
    return [dict(each) for each in found]


def _study(
    sampler: Sampler, spaces: Mapping[str, Space], tried: Sequence[Mapping[str, Any]], ranking: Sequence[int]
) -> Study:
    import optuna  # seconds to import, and needed by this search only

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=_sampler(sampler, len(tried)), direction="minimize")
    every = {name: _distribution(space) for name, space in spaces.items()}
    if sampler == "qmc":  # takes the space from the first trial, and the place in the sequence from the study
        middle: dict[str, Any] = {name: 0 if _categorical(space) else 0.5 for name, space in spaces.items()}
        study.add_trial(optuna.create_trial(params=middle, distributions=every, value=0.0))
        for _ in tried:
            study.tell(study.ask(every), state=_failed())
    if sampler not in LEARNING:
        return study
    places = {trial: place for place, trial in enumerate(ranking, 1)}
    for number, setting in enumerate(tried, 1):
        active = {name: space for name, space in spaces.items() if sampler in FLAT or space.applies(setting)}
        study.add_trial(
            optuna.create_trial(
                params={name: _place(space, setting.get(name)) for name, space in active.items()},
                distributions={name: every[name] for name in active},
                value=float(places.get(number, len(tried) + 1)),
            )
        )
    return study


def _sampler(sampler: Sampler, tried: int) -> BaseSampler:
    from optuna import samplers
    from optuna.exceptions import ExperimentalWarning

    if sampler == "tpe":
        return samplers.TPESampler(seed=tried, n_startup_trials=1, constant_liar=True)
    if sampler == "gp":
        return samplers.GPSampler(seed=tried, n_startup_trials=1)
    if sampler == "random":
        return samplers.RandomSampler(seed=tried)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        return samplers.QMCSampler(scramble=True, seed=SCRAMBLE)


def _categorical(space: Space) -> bool:
    return space.choices is not None and not space.ordered


def _distribution(space: Space) -> BaseDistribution:
    """Return that of an index for choices without an order, otherwise of a share of the space, on its scale."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if space.choices is not None and _categorical(space):
        return CategoricalDistribution(list(range(len(space.choices))))
    return FloatDistribution(0.0, 1.0)


def _place(space: Space, value: Any) -> float | int:
    """Return where a value lies, in the terms of the distribution; in the middle, if it is none of the space's."""
    if space.choices is not None and _categorical(space):
        return space.choices.index(value) if value in space.choices else 0
    share = space.share(value)
    return 0.5 if share is None else share


def _suggested(start: Mapping[str, Any], spaces: Mapping[str, Space], trial: Trial, flat: bool) -> dict[str, Any]:
    """Return the values at a proposed point; `flat`: which has a coordinate for each parameter, used or not."""
    values = dict(start)
    for name, space in spaces.items():
        applies = space.applies(values)
        if not applies and not flat:
            continue
        if space.choices is not None and _categorical(space):
            value = space.choices[int(trial.suggest_categorical(name, list(range(len(space.choices)))))]
        else:
            value = space.at(trial.suggest_float(name, 0.0, 1.0))
        if applies:
            values[name] = value
    return values


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL
