"""The runs that are played in both worlds, by name."""

from tests.engine.loop.setup import BATCH, NETWORK, Setup

PERIODIC = (("checkpoint_every", 18 * BATCH),)
ATOMIC = (("updates", "atomic"),)
ROUNDED = (("communication", {"wire": "bf16", "packing": "per-layer"}),)
DROP = (("on_bad_worker", "drop"),)

ONE_HOST = (("virtual", NETWORK | {"latency": 0.0, "seconds_per_byte": 0.0}),)

IN_PAIRS = (("period", 3), ("optimizer", "sgd"), ("lr", 0.05))
TOUCHED = (("communication", {"rows": "touched"}),)
PULL = (("rho", 6.0), ("period", 2))
HANDED_OUT = (("sharding", "dispatched"),)
THREE, TWO = (1.0, 0.5, 0.25), (1.0, 0.25)
"""Speeds."""
UNSTEADY = (
    {"kind": "cpu", "straggling": 0.1, "straggling_factor": 10},
    {"kind": "cpu", "changes": [{"at": 0.2, "speed": 0.2}]},
)
"""A worker that straggles, and one that is suddenly slow."""
SLOW = (("lr", 0.01),)
BOUNDED = (*SLOW, ("sizes", (4, 1)), ("smallest_of", (3, 1)), ("largest_of", (6, 1)))
"""Bounds that speeds of 4 : 1 leave no size in peace with: 6 is too large for the fast worker, 3 too small."""

SETUPS = {
    "one by one": Setup("async-easgd", sleeps=1),
    "every third": Setup("async-easgd", (("period", 3),), steps=91, sleeps=2),
    "pushed": Setup("downpour", (("period", 3),), steps=91, sleeps=4),
    "to the target": Setup(
        "async-easgd",
        (("lr", 0.2),),
        steps=600,
        sleeps=3,
        changes=(("target", {"metric": "validation_loss", "value": 3.5}),),
    ),
    "atomic": Setup("unlocked", steps=150, every=47, sleeps=1),
    "plain": Setup("unlocked", (("updates", "plain"),), steps=150, every=47, sleeps=1, changes=ONE_HOST),
    "atomic every third": Setup("unlocked", (("period", 3),), steps=150, every=47),
    "pushed, every fourth": Setup("hogwild-sgd", (("period", 4), *ATOMIC), steps=151, every=47, sleeps=1),
    "plain, apart": Setup("hogwild-easgd", (("updates", "plain"),), apart=True, changes=ONE_HOST),
    "whatever, apart": Setup("hogwild-easgd", steps=60, apart=True),
    "a slow one": Setup("unlocked", steps=150, every=150, slow=(1, 0.02), sleeps=1),
    "told within a period": Setup("async-easgd", (("period", 400),), steps=4000, every=4000, told=5),
    "cancelled": Setup("unlocked", steps=4000, every=100, cancel=(0, 3)),
    "on the host": Setup("host-easgd", sleeps=1),
    "on the host, twice": Setup("host-easgd", sleeps=1, changes=PERIODIC, cut=80),
    "the first is late": Setup("sync-easgd", every=9, sleeps=1, changes=PERIODIC, late=0),
    "another is late": Setup("sync-easgd", every=9, sleeps=1, changes=PERIODIC, late=1),
    "the first is late, lock-free": Setup("unlocked", every=9, sleeps=1, late=0),
    "in turn": Setup("turns", sleeps=1),
    "in turn, twice": Setup("turns", sleeps=1, changes=PERIODIC, cut=80),
    "served, twice": Setup("async-easgd", (("period", 3),), changes=PERIODIC, cut=80),
    "unlocked, twice": Setup("unlocked", every=10, changes=PERIODIC, cut=80),
    "moody, rounded, in turn": Setup("turns", moody=True, changes=(*PERIODIC, *ROUNDED), cut=80),
    "moody, rounded, all alike": Setup("sync-easgd", moody=True, changes=(*PERIODIC, *ROUNDED), cut=80),
    "one leaves": Setup("forgiving", poison=((1, 4),), changes=DROP),
    "one leaves, scored often": Setup("forgiving", every=1, poison=((1, 4),), changes=DROP),
    "one leaves its period": Setup("forgiving", (("period", 3),), steps=92, poison=((2, 4),), changes=DROP),
    "one leaves the lock-free": Setup("unlocked", poison=((1, 4),), changes=DROP),
    "the first leaves": Setup("unlocked", poison=((0, 2),), changes=DROP),
    "rows, together": Setup("sync-easgd", PULL, steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, behind": Setup(
        "sync-easgd3", (*PULL, ("pipelined", True)), steps=60, every=60, rows="some", changes=TOUCHED
    ),
    "rows, on the host": Setup("sync-easgd1", PULL, steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, in turn": Setup("original-easgd", (("rho", 6.0),), steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, one by one": Setup("async-easgd", PULL, steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, pushed": Setup("async-sgd", (("period", 2),), steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, of chips": Setup(
        "chip-easgd", (*PULL, ("parts", 2)), 4, steps=60, every=60, rows="some", changes=TOUCHED
    ),
    "rows, in pairs": Setup("noloco", IN_PAIRS, 4, steps=60, every=60, rows="some", changes=TOUCHED),
    "rows, averaged": Setup(
        "local-sgd", (("period", 4),), steps=90, every=90, rows="some", changes=(*PERIODIC, *TOUCHED), cut=80
    ),
    "rows, unlocked": Setup("hogwild-easgd", (*PULL, *ATOMIC), steps=60, rows="some", apart=True, changes=TOUCHED),
    "rows, read": Setup(
        "hogwild-sgd", (("period", 2), *ATOMIC), steps=60, rows="some", apart=True, changes=TOUCHED
    ),
    "one leaves before a checkpoint": Setup("forgiving", poison=((1, 4),), changes=(*DROP, *PERIODIC)),
    "handed out": Setup(
        "hogbatch", (*SLOW, ("largest", 8)), steps=92, speeds=THREE, pause=0.001, changes=HANDED_OUT
    ),
    "handed out, merged": Setup(
        "adaptive-sgd",
        (*SLOW, ("largest", 4), ("mega_batch", 16)),
        steps=92,
        speeds=THREE,
        pause=0.001,
        changes=HANDED_OUT,
    ),
    "handed out, at once": Setup(
        "adaptive-sgd",
        (*SLOW, ("largest", 2), ("mega_batch", 30), ("at_once", 0.6)),
        steps=92,
        speeds=THREE,
        pause=0.001,
        changes=HANDED_OUT,
    ),
    "handed out, elastic": Setup(
        "heterogeneous-easgd",
        (*SLOW, ("period", 2), ("longest", 8)),
        steps=92,
        speeds=THREE,
        pause=0.001,
        changes=HANDED_OUT,
    ),
    "handed out, twice": Setup(
        "hogbatch", (*SLOW, ("largest", 2)), sleeps=1, changes=(*HANDED_OUT, *PERIODIC), cut=80
    ),
    "handed out, one leaves": Setup(
        "hogbatch", (*SLOW, ("largest", 4)), steps=92, poison=((1, 4),), changes=(*HANDED_OUT, *DROP)
    ),
    "overwriting": Setup(
        "hogbatch", (*SLOW, ("alpha", 1.0), ("merging", "overwrite")), steps=92, speeds=THREE, pause=0.001
    ),
    "unsteady": Setup("hogbatch", SLOW, 2, steps=300, every=300, groups=UNSTEADY, pause=0.002),
    "adapting": Setup("hogbatch", (*SLOW, ("largest", 8)), 2, steps=240, every=240, speeds=TWO, pause=0.002),
    "bounded": Setup("hogbatch", BOUNDED, 2, steps=200, every=200, speeds=TWO, pause=0.001),
    "adapting, merged": Setup(
        "adaptive-sgd",
        (*SLOW, ("largest", 8), ("mega_batch", 40), ("center_momentum", 0.0)),
        2,
        steps=240,
        every=240,
        speeds=TWO,
        pause=0.002,
    ),
    "alone": Setup("sgd", (("lr", 0.05), ("momentum", 0.0)), 1, steps=30),
    "alone, served": Setup("hogbatch", (("lr", 0.05),), 1, steps=30),
    "alone, merged": Setup("adaptive-sgd", (("lr", 0.05), ("largest", 1), ("center_momentum", 0.0)), 1, steps=30),
    "alone, at once": Setup(
        "adaptive-sgd",
        (("lr", 0.05), ("largest", 1), ("center_momentum", 0.0), ("mega_batch", 12), ("at_once", 1.0)),
        1,
        steps=30,
    ),
}
