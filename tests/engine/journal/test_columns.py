"""Packed columns: exact, little-endian, and refused when they make no sense."""

import base64
import math
import struct

import numpy as np
import pytest
from hooke.errors import JournalError
from hooke.spec.events import STEP_COLUMNS
from hooke.spec.journal import pack, unpack
from hypothesis import example, given
from hypothesis import strategies as st

FLOATS = {
    "<f8": st.floats(allow_nan=True, allow_infinity=True),
    "<f4": st.floats(width=32, allow_nan=True, allow_infinity=True),
    "<i8": st.integers(-(2**63), 2**63 - 1),
    "<i4": st.integers(-(2**31), 2**31 - 1),
}


@pytest.mark.parametrize("column", STEP_COLUMNS)
def test_round_trip_is_exact_and_numpy_reads_the_same_bytes(column):
    dtype = STEP_COLUMNS[column]

    @given(st.lists(FLOATS[dtype], max_size=40))
    def check(values):
        text = pack(column, values)
        again = unpack(column, text)
        assert [
            struct.pack("<d", v) if isinstance(v, float) and not math.isnan(v) else v for v in again if v == v
        ] == [struct.pack("<d", v) if isinstance(v, float) else v for v in values if v == v]
        assert [v != v for v in again] == [v != v for v in values]
        array = np.frombuffer(base64.b64decode(text), dtype=dtype)
        np.testing.assert_array_equal(array, np.array(values, dtype=dtype))

    check()


def test_what_a_float32_cannot_hold_becomes_infinite_and_stops_no_run():
    assert unpack("loss", pack("loss", [1e39, -1e300, 1.0, math.inf])) == [math.inf, -math.inf, 1.0, math.inf]
    assert math.isnan(unpack("loss", pack("loss", [math.nan, 1e39]))[0])


@given(st.sampled_from(list(STEP_COLUMNS)), st.text(max_size=60))
@example("step", "AAAA")  # three bytes
@example("step", "AAAAAAAAAAA")  # no padding
@example("loss", "é")
def test_garbage_is_refused_by_one_error(column, text):
    try:
        values = unpack(column, text)
    except JournalError as error:
        assert column in str(error)
    else:
        assert len(values) * np.dtype(STEP_COLUMNS[column]).itemsize == len(base64.b64decode(text))


def test_an_unknown_column_is_named():
    with pytest.raises(JournalError, match="'speed'"):
        unpack("speed", "")
