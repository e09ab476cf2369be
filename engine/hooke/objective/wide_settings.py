"""What a network with a wide output layer is built from, as the workload that describes it says."""

from __future__ import annotations

from typing import Literal, Protocol


class WideSettings(Protocol):
    """Parameters of the workload `xmlc-mlp`; `hooke.workloads.xmlc_mlp` says more of each."""

    def id(self) -> str:
        """Return the name of the workload."""

    def hashes_per_table(self) -> int:
        """Return K, by default that of the family."""

    @property
    def output(self) -> Literal["full", "sampled", "random-active", "in-batch", "slide"]:
        """Return which labels a step computes."""

    @property
    def active(self) -> int:
        """Return the size of the active set."""

    @property
    def sets(self) -> Literal["batch", "item"]:
        """Return whether a batch or an item has a set."""

    @property
    def distribution(self) -> Literal["uniform", "log-uniform"]:
        """Return the distribution of negatives."""

    @property
    def correction(self) -> bool:
        """Return whether negatives are corrected for."""

    @property
    def hash_family(self) -> str:
        """Return the hash functions."""

    @property
    def tables(self) -> int:
        """Return the number of tables, L."""

    @property
    def bucket(self) -> int:
        """Return the labels that a bucket holds."""

    @property
    def bucket_policy(self) -> Literal["fifo", "reservoir"]:
        """Return what a full bucket keeps."""

    @property
    def sampling(self) -> Literal["union", "vanilla", "top-k", "threshold"] | None:
        """Return how buckets are sampled; None: as usual."""

    @property
    def threshold(self) -> int:
        """Return the tables in which a label must be."""

    @property
    def uniform_share(self) -> float:
        """Return the share of uniform labels."""

    @property
    def queries(self) -> int:
        """Return the queries of a batch; 0: one per item."""

    @property
    def first_rebuild(self) -> int:
        """Return the step of the first rebuild."""

    @property
    def rebuild_growth(self) -> float:
        """Return the growth of the intervals."""

    @property
    def rebuild(self) -> Literal["all", "touched"]:
        """Return which rows a rebuild hashes."""

    @property
    def weights(self) -> Literal["fp32", "bf16"]:
        """Return the type of the weights."""

    @property
    def hidden(self) -> int:
        """Return the number of hidden units."""

    @property
    def validation_items(self) -> int:
        """Return the items of the validation part that are used."""

    @property
    def test_items(self) -> int:
        """Return the items of the test part that are used; 0: all."""
