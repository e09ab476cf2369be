"""A second signal may arrive anywhere in the handler of the first one."""

import subprocess
import sys

PROGRAM = """
import signal, sys
from hooke.loop.flag import Flag
flag = Flag()
signal.signal(signal.SIGTERM, lambda *_: flag.set())
places = []
def trace(frame, event, _):
    places.append(event)
    if len(places) < 100:
        signal.raise_signal(signal.SIGTERM)  # between any two steps of the handler
    return trace
sys.settrace(trace)
signal.raise_signal(signal.SIGTERM)
sys.settrace(None)
print(flag.is_set(), len(places) > 1)
"""


def test_signals_within_its_handler_do_not_wait_for_each_other():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("True True", "")
