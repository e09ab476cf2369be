"""Deep perceptrons on two data sets in the LIBSVM format, as in the literature on CPUs and GPUs together."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from hooke.readers.bag_files import Name
from hooke.workloads.libsvm_mlp import LibsvmMlp


class A9aMlp(LibsvmMlp):
    """a9a, perceptron of 6 hidden layers.

    Data: `libsvm-mlp` with a9a: 32,561 training and 16,281 test items of 123 features, two classes, 24 % of one.

    Model: 123 -> 6 hidden layers of 512 -> 2, 1,377,794 parameters. Width and sigmoids are those of Ma and Rusu
    (arXiv 2004.08771); the depth is that of their covtype, as they have no a9a. Initial weights as in
    `libsvm-mlp`.

    Loss: mean cross-entropy.

    Target: 84 %, an expectation, not measured; always the same class is 76 %.

    Licence: that of your data. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.84

    data: Name = "a9a"
    layers: int = Field(6, ge=0, le=32, title="Hidden layers", description="Number of hidden layers.")
    hidden: int = Field(512, ge=1, le=8192, title="Hidden units", description="Of each hidden layer.")
    activation: Literal["relu", "sigmoid"] = Field(
        "sigmoid", title="Activation", description="Of the hidden layers."
    )


class W8aMlp(LibsvmMlp):
    """w8a, perceptron of 8 hidden layers.

    Data: `libsvm-mlp` with w8a: 49,749 training and 14,951 test items of 300 features, two classes, 3 % of one.

    Model: 300 -> 8 hidden layers of 512 -> 2, 1,993,730 parameters, with sigmoids, as in Ma and Rusu (arXiv
    2004.08771). Initial weights as in `libsvm-mlp`.

    Loss: mean cross-entropy.

    Target: 98 %, an expectation, not measured; always the same class is 97 %.

    Licence: that of your data. Nothing is downloaded.
    """

    target: ClassVar[float] = 0.98

    data: Name = "w8a"
    layers: int = Field(8, ge=0, le=32, title="Hidden layers", description="Number of hidden layers.")
    hidden: int = Field(512, ge=1, le=8192, title="Hidden units", description="Of each hidden layer.")
    activation: Literal["relu", "sigmoid"] = Field(
        "sigmoid", title="Activation", description="Of the hidden layers."
    )
