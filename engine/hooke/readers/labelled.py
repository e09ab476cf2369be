"""Reads bags of features with labels by the name of a data set, in whichever format its files are.

`$HOOKE_DATA/xmlc/NAME/` or `$HOOKE_DATA/NAME/` has train.txt and test.txt in the format of the Extreme
Classification Repository, or histories.txt (`hooke.readers.xmlc`). Where neither does, `libsvm/NAME` (and
`libsvm/NAME.t`), `libsvm/NAME/train.txt` or `NAME` (and `NAME.t`) are in the LIBSVM format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooke.errors import DataMissing
from hooke.readers import libsvm, xmlc
from hooke.readers.bag_files import Files

if TYPE_CHECKING:
    from hooke.objective.bags import BagPart


def find(name: str, workload: str) -> tuple[str, Files]:
    """Return the format of a data set, `xmlc` or `libsvm`, and its files; XMLC without a test part: histories.

    A train.txt in `$HOOKE_DATA/NAME/` is in the XMLC format, and lacks its test.txt if that is not beside it.
    Raises DataMissing with the files to provide.
    """
    try:
        kind = libsvm.KIND
        also = f", or files in the LIBSVM format at `{kind}/{name}` and `{kind}/{name}.t`"
        return xmlc.KIND, xmlc.find(name, workload, also)
    except DataMissing as missing:
        try:
            return libsvm.KIND, libsvm.find(name, workload, folders=False)
        except DataMissing:
            raise missing from None


def parts(name: str, window: int, workload: str) -> tuple[BagPart, BagPart, BagPart | None]:
    """Return training, test and validation part; no validation part: it is split off the training part.

    `window` is that of histories. Raises DataMissing, and DataInvalid for faults in the files.
    """
    kind, files = find(name, workload)
    if kind == libsvm.KIND:
        return *libsvm.parts(name, workload, folders=False), None
    if files.test is None:
        from hooke.readers import histories

        train, validation, test = histories.parts(name, window, workload)
        return train, test, validation
    return *xmlc.parts(name, workload), None
