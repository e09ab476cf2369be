"""What ranks do with hardware: exchange vectors of a device by host copies, and go to their cores."""

import functools
import json
import os

import pytest
import torch
from hooke.comm.base import Comm
from hooke.comm.wrappers import cuda
from hooke.comm.wrappers.cuda import staging
from hooke.comm.wrappers.staged import Staged
from hooke.comm.wrappers.timed import connect
from hooke.hardware.placing import Host, place
from hooke.spec.specification import Communication, Compute
from hooke.trace.phases import Ledger

from tests.engine.comm.worlds import NETWORK, ONE_HOST, mpirun, virtual
from tests.engine.hardware.machines import expand
from tests.engine.hardware.staged_cases import CASES, LAYOUT, Device, HostCopies, both, values

RANKS = 2


@functools.cache
def answers():
    done = mpirun(RANKS, "tests.engine.hardware.program")
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return json.loads(done.stdout)


@pytest.mark.parametrize("wire", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_staging_moves_no_bit(name, wire):
    """Over the virtual world with 2, 3 and 5 ranks, over MPI with 2; one buffer per vector."""
    network = ONE_HOST if name == "windows" else NETWORK  # plain stores need shared memory
    for size in (2, 3, 5):
        for plain, staged, buffers in virtual(size, lambda comm: both(comm, name, wire), network=network):
            assert plain == staged
            assert 0 < buffers <= 4
    for same, count, buffers in answers()[f"{name} {wire}"]:
        assert same
        assert count > 0
        assert 0 < buffers <= 4


def test_a_device_vector_does_not_travel_unstaged():
    class Blind(HostCopies):
        def takes(self, x):
            return False

    def main(comm: Comm):
        Staged(comm, Blind()).allreduce(Device(values(0)))

    with pytest.raises(Exception, match="numpy"):
        virtual(2, main)


def test_connect_stages_around_everything_else():
    """With a narrow wire and without, and for a problem in main memory not at all."""

    def main(comm: Comm):
        copies, ledger = HostCopies(), Ledger(comm.clock)
        found = [staging(object())]
        for wire in ("fp32", "bf16"):
            words = Communication(wire=wire)
            x, plain = Device(values(comm.rank)), values(comm.rank)
            connect(comm, words, LAYOUT, ledger, copies).allreduce(x)
            connect(comm, words, LAYOUT, ledger, staging(object())).allreduce(plain)
            found.append(x.hidden_values.tobytes() == plain.tobytes())
        return found

    assert virtual(2, main) == [[None, True, True]] * 2


def test_what_a_wire_remembers_of_a_device_vector_has_its_name():
    """Of vectors that their rank has labelled, whichever is sent first: so it finds it again after a restart."""

    def main(comm: Comm):
        copies, found = HostCopies(), []
        for order in ("ab", "ba"):
            timed = connect(comm, Communication(wire="bf16"), LAYOUT, Ledger(comm.clock), copies)
            vectors = {name: Device(values(comm.rank, ord(name))) for name in "ab"}
            for name, x in vectors.items():
                timed.label(x, name)
            for name in order:
                timed.allreduce(vectors[name])
            found.append({name: array.tobytes() for name, array in timed.residuals.items()})
        return found, copies.settled

    for (one, other), settled in virtual(2, main):
        assert set(one) == {"allreduce.a", "allreduce.b"}
        assert one == other
        assert settled == 4, "each operation is charged for what it does, not for what was begun before"


def test_parts_of_a_kept_vector_have_the_same_part_of_its_buffer(monkeypatch):
    """The book-keeping of CUDA's buffers; the memory is another here."""
    monkeypatch.setattr(cuda, "_locked", lambda x: torch.zeros(x.numel(), dtype=x.dtype))
    copies, x, made = cuda.Cuda(), torch.arange(20.0), []
    copies.keep(x, made.append)
    part = copies.out(x[4:9])
    whole = copies.out(x)
    assert len(made) == 1
    assert whole.data_ptr() == made[0].data_ptr() == copies.buffer(x).data_ptr()
    assert part.data_ptr() == whole[4:9].data_ptr()
    assert part.tolist() == [4, 5, 6, 7, 8]
    for other in (torch.arange(20.0), x[4:9].view(torch.int32)):
        assert copies.buffer(other).data_ptr() != part.data_ptr()
    part.mul_(2)
    copies.back(part, x[4:9])
    assert x[:10].tolist() == [0, 1, 2, 3, 8, 10, 12, 14, 16, 9]


def test_ranks_go_to_cores_of_their_own():
    found = answers()["placed"]
    cores = len(os.sched_getaffinity(0))
    for rank in found:
        assert all(cpus == rank["cpus"][0] for cpus in rank["cpus"]), "a thread stayed behind"
        assert len(rank["cpus"]) >= 2
        assert rank["threads"] == len(rank["cpus"][0]) or cores < RANKS
        assert rank["whole"] == max(1, cores // RANKS)
        assert "cpus" in rank["notes"]["placement"]
    if cores >= RANKS:
        assert not set(found[0]["cpus"][0]) & set(found[1]["cpus"][0])


def test_a_second_run_in_the_process_is_placed_anew_and_alike():
    for rank in answers()["placed"]:
        assert rank["again"]["placement"] == rank["notes"]["placement"]


def test_a_launcher_that_binds_is_respected():
    if len(os.sched_getaffinity(0)) < RANKS:
        pytest.skip("there are not enough cores to bind ranks to different ones")
    for rank in answers()["placed"]:
        assert "has already bound this rank" in rank["bound"]["placement"]
        assert not rank["crowded"], "a pinned rank believes that its neighbours share its core"


def test_the_kernel_takes_the_memory_policy_or_says_why_not():
    for rank in answers()["placed"]:
        how, failed, released, policies, after = rank["memory"]
        assert bool(how) != bool(failed)
        if how:
            assert any(policy.startswith("prefer") for policy in policies)
            assert released == ""
            assert not any(policy.startswith("prefer") for policy in after)


def test_a_need_too_large_is_told():
    for rank in answers()["placed"]:
        assert "left to the kernel" in rank["too_much"]["memory"]
        assert "would fit" in rank["too_much"]["memory"]


@pytest.mark.parametrize(("asked", "threads"), [("group", 64), (3, 3)])
def test_what_the_kernel_refuses_is_a_note(tmp_path, asked, threads):
    """A machine with cpus and nodes that this one does not have: nothing can be bound, and nothing breaks."""
    before = os.sched_getaffinity(0)
    root = expand("xeon-max-9480-snc4-flat", tmp_path, allowed="48-111", mems="8-15")
    compute = Compute(placement="numa", threads=asked)
    try:
        placed = place(compute, Host(0, 1), bytes_per_rank=2**30, root=root)
        if max(before) < 48:
            assert os.sched_getaffinity(0) == before
            assert "not pinned" in placed.notes["placement"]
        assert placed.threads == threads
        assert placed.compute(compute).threads == threads
        assert "fast memory" in placed.confirm(2**30)["memory"]
        assert "left to the kernel" in placed.confirm(2**50)["memory"]
    finally:
        os.sched_setaffinity(0, before)


def test_no_placement_touches_nothing():
    before = os.sched_getaffinity(0)
    placed = place(Compute(), Host(0, 1))
    assert (placed.threads, placed.notes, os.sched_getaffinity(0)) == (1, {}, before)
