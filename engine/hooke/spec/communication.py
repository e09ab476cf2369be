"""How vectors are exchanged: a part of every variant and run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from hooke.spec.frozen import Frozen

DEFAULT_COLLECTIVE: Literal["halving"] = "halving"
"""Collective of new documents (decision 112); it was `tree`, which stored documents name."""
DEFAULT_SHARE = 0.01
"""Part of the elements that the wire type top-k sends, if nothing else is chosen."""


class Communication(Frozen):
    """How vectors are exchanged; works with every algorithm."""

    packing: Literal["one", "per-layer", "buckets"] = Field(
        "one",
        title="Packing",
        description="One message for all layers, one per layer, or messages of `bucket_bytes`.",
    )
    bucket_bytes: int = Field(
        1 << 20, ge=1024, le=1 << 30, title="Bucket", description="Bytes per message where packing is `buckets`."
    )
    collective: Literal["tree", "halving", "ring", "library"] = Field(
        DEFAULT_COLLECTIVE,
        title="Collective",
        description="Recursive halving or a ring (both optimal in bytes), binomial reduce + broadcast as in the "
        "paper (the same bits as halving, but whole vectors), or the MPI library's own all-reduce, whose order of "
        "additions is unspecified.",
    )
    wire: Literal["fp32", "bf16", "fp16", "int8", "sign", "top-k"] = Field(
        "fp32",
        title="Wire type",
        description="How vectors travel: bf16 and fp16 round elements and sums; int8, sign (1 bit) and top-k (the "
        "largest elements) compress what changed, and all-reduces become all-gathers.",
    )
    error_feedback: bool = Field(
        True,
        title="Error feedback",
        description="Add what the wire type took from a vector to the next vector sent (no effect with fp32).",
    )
    rows: Literal["all", "touched"] = Field(
        "all",
        exclude_if=lambda value: value == "all",  # documents without it keep their fingerprint
        title="Rows",
        description="What exchanges send of a model that touches few rows in a step: all, or those that were "
        "touched since the exchange before; docs/wide-outputs.md says by which methods.",
    )
    wire_share: float = Field(
        DEFAULT_SHARE,
        gt=0,
        le=1,
        exclude_if=lambda value: value == DEFAULT_SHARE,  # documents without it keep their fingerprint
        title="Share of elements",
        description="Part of the elements that the wire type top-k sends; each takes 8 bytes.",
    )

    @model_validator(mode="after")
    def _rows_keep_no_residual(self) -> Communication:
        rounds = self.wire != "fp32"
        if self.rows == "touched" and rounds and (self.error_feedback or self.wire not in ("bf16", "fp16")):
            raise ValueError(
                "touched rows differ from step to step, so that what a wire type took from them cannot be kept: "
                "choose the wire type fp32, or bf16 or fp16 without error feedback"
            )
        return self
