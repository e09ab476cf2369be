"""How an experiment chooses the settings of its variants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from hooke.spec.frozen import Frozen, Name, Parameter
from hooke.spec.spaces import Space

Sampler = Literal["tpe", "gp", "random", "qmc"]


class Tuning(Frozen):
    """Choice of each variant's free parameters by trial runs; the same effort for every variant.

    Every cluster and number of workers has trials of its own, unless `cluster` names one for all. The best setting
    of each variant is then measured on the experiment's seeds, which no trial has used.
    """

    trials: int = Field(12, ge=2, le=200, title="Trials", description="Settings tried per variant.")
    seeds: int = Field(1, ge=1, le=10, title="Tuning seeds", description="Runs per trial, on seeds of their own.")
    search: Literal["quasi-random", "halving", "optuna"] = Field(
        "quasi-random",
        title="Search",
        description="Every trial with the whole budget; or successive halving, in which the better half of the "
        "trials goes on with twice the budget: both with settings of a scrambled Halton sequence. Or Optuna, "
        "whose sampler proposes settings.",
    )
    sampler: Sampler = Field(
        "tpe",
        exclude_if=lambda value: value == "tpe",  # documents without it keep their fingerprint
        title="Sampler",
        description="Of Optuna. From the results so far: a tree-structured Parzen estimator (tpe) or a Gaussian "
        "process (gp). All at once: random points, or a scrambled Sobol' sequence (qmc).",
    )
    samples: int | None = Field(
        None, ge=1, le=10**12, title="Samples", description="Budget of a trial's run; empty: that of a run."
    )
    continues: Annotated[str, StringConstraints(pattern=r"^exp_[0-9a-z]{1,36}$")] | None = Field(
        None,
        exclude_if=lambda value: value is None,  # documents without it keep their fingerprint
        title="Continues",
        description="Id of a tuned experiment whose trials count in this one, too; its spaces may be wider.",
    )
    cluster: Name | None = Field(
        None, title="Cluster", description="Name of the cluster whose trials decide for all; empty: each its own."
    )
    spaces: dict[Name, dict[Parameter, Space]] = Field(
        default_factory=dict,
        max_length=200,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Spaces",
        description="Algorithm: the spaces of its parameters, instead of those that it declares now. A submitted "
        "experiment has those with which it was begun, so that all of its trials have the same.",
    )
    later: list[Name] = Field(
        default_factory=list,
        max_length=200,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Later",
        description="Algorithms whose spaces were declared later than those of others, which have changed since.",
    )
    given: list[Name] = Field(
        default_factory=list,
        max_length=200,
        exclude_if=lambda value: not value,  # documents without it keep their fingerprint
        title="Given",
        description="Algorithms whose spaces a document gave: not those that they declared when it was submitted.",
    )
