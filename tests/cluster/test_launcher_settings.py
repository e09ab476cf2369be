"""The table `[launcher]`: options, faults in sentences, slots; and what Slurm's words mean."""

import tomllib
from pathlib import Path

import pytest
from hooke.cluster.job import Job, Order
from hooke.cluster.launchers import slurm_words
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.settings import LocalSettings, SlurmSettings, launcher_settings
from hooke.cluster.supervisor import MOST_PER_PROCESS
from hooke.errors import SpecError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "launchers.md"


def examples():
    blocks = DOCS.read_text().split("```toml\n")[1:]
    return [block.split("```")[0] for block in blocks]


@pytest.mark.parametrize("text", examples())
def test_the_examples_of_the_documentation_are_settings_and_survive_a_job(text):
    settings = launcher_settings(tomllib.loads(text))
    job = Job(api="http://x", orders=[Order(run="r", attempt=1, spec={})], launcher=settings)
    assert Job.model_validate_json(job.model_dump_json()).launcher == settings
    assert settings.slots(4) == {"local": 4, "hosts": 16, "slurm": 64, "psij": 32}[settings.kind]
    assert make(settings) is not None


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"launcher": 3}, "/launcher: must be a table"),
        ({"launcher": {}}, "/launcher/kind: is missing: one of local, hosts, slurm, psij"),
        ({"launcher": {"kind": "pbs"}}, "/launcher/kind: is one of local, hosts, slurm, psij, not 'pbs'"),
        ({"launcher": {"kind": "slurm"}}, "/launcher/slots: is missing: the launcher `slurm` needs it"),
        (
            {"launcher": {"kind": "local", "queue": "x"}},
            "/launcher/queue: is not an option of the launcher `local`",
        ),
        (
            {"launcher": {"kind": "slurm", "slots": 1, "time_limit": "soon"}},
            "/launcher/time_limit: 'soon' is not a time",
        ),
        (
            {"launcher": {"kind": "slurm", "slots": 1, "time_limit": "1"}},
            "/launcher/time_limit: '1' (60 s) is no longer than `signal_seconds` (90)",
        ),
        (
            {"launcher": {"kind": "slurm", "slots": 1, "extra": ["--mail-type=FAIL", "--comment = mine"]}},
            "/launcher/extra/1: --comment is set by Hooke, which relies on it",
        ),
        (
            {"launcher": {"kind": "slurm", "slots": 1, "extra": ["-Jmine"]}},
            "/launcher/extra/0: -J is set by Hooke",
        ),
        (
            {"launcher": {"kind": "psij", "executor": "pbs", "slots": 1, "time_limit": 0}},
            "/launcher/time_limit: '0' (0 s) is no longer than `signal_seconds` (90)",
        ),
        ({"launcher": {"kind": "hosts", "hosts": [{"address": "-oProxyCommand=x"}]}}, "/launcher/hosts/0/address"),
        (
            {"launcher": {"kind": "hosts", "hosts": [{"address": "a"}, {"address": "a"}]}},
            "hosts named twice: a",
        ),
    ],
)
def test_every_fault_is_a_sentence_with_its_place(document, fault):
    with pytest.raises(SpecError) as raised:
        launcher_settings(document)
    assert fault in str(raised.value)


def test_a_limit_of_none_and_one_that_leaves_time_are_settings():
    for limit in (None, "0", "2", "0:02:00"):
        given = {"kind": "slurm", "slots": 1} | ({} if limit is None else {"time_limit": limit})
        assert launcher_settings({"launcher": given}).time_limit == limit


def test_without_a_table_ranks_start_here():
    assert launcher_settings({}) == LocalSettings()


def line(state, reason="None"):
    return slurm_words.Line("7", state, reason, "n1", "hooke.r.1", "")


@pytest.mark.parametrize(
    ("state", "how"),
    [
        ("COMPLETED", None),
        ("FAILED", None),
        ("CANCELLED", "cancelled"),
        ("TIMEOUT", "limit"),
        ("DEADLINE", "limit"),
        ("NODE_FAIL", "infrastructure"),
        ("PREEMPTED", "infrastructure"),
        ("OUT_OF_MEMORY", "infrastructure"),
        ("BOOT_FAIL", "infrastructure"),
    ],
)
def test_a_state_of_slurm_is_an_end_with_its_words(state, how):
    found = slurm_words.outside(line(state))
    assert (found and found.how) == how
    assert found is None or state in found.why


@pytest.mark.parametrize(
    ("said", "for_good"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", True),
        ("sbatch: error: invalid partition specified: nowhere", True),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", True),
        ("sbatch: error: Batch job submission failed: Pathname of a file, directory or other "
         "parameter too long", True),
        ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates "
         "accounting/QOS policy (job submit limit, user's size and/or time limits)", False),
        ("sbatch: error: Unable to contact slurm controller (connect failure)", False),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", False),
    ],
)  # fmt: skip
def test_only_a_refusal_of_settings_is_for_good(said, for_good):
    assert slurm_words.refused_for_good(said) is for_good


def test_a_comment_names_every_attempt_of_a_launch_within_slurms_limit():
    ids = [f"run_{number:032x}.1" for number in range(MOST_PER_PROCESS)]
    comment = slurm_words.comment_of(ids)
    assert len(comment) <= 1024
    assert all(slurm_words.is_of(comment, [id]) for id in ids)
    assert not slurm_words.is_of(comment, ["run_x.1", "run_x.2"])
    assert slurm_words.is_of(f"hooke:{','.join(ids[:3])}", [ids[1], "run_x.1"]), "of an earlier version"


def test_a_script_has_every_option_and_the_status_of_a_job_its_signal(tmp_path):
    settings = launcher_settings(tomllib.loads(examples()[2]))
    assert isinstance(settings, SlurmSettings)
    script = make(settings).script(Launch("mpi", 3, (tmp_path,), ("r.1",)), tmp_path)
    options = [text.removeprefix("#SBATCH ") for text in script.splitlines() if text.startswith("#SBATCH")]
    wanted = {
        *("--job-name=hooke.r.1", "--ntasks=3", "--partition=gpu", "--account=lab", "--qos=normal"),
        *("--time=4:00:00", "--signal=B:USR2@120", "--nodes=4", "--ntasks-per-node=16", "--cpus-per-task=2"),
        *("--gpus-per-node=a100:4", "--mem=200G", "--constraint=infiniband", "--reservation=course"),
        *("--exclusive", "--mail-type=FAIL", "--no-requeue"),
    }
    assert wanted <= set(options)
    assert "module load gcc\nexec " in script and " srun --mpi=pmi2 " in script
    blank = tmp_path / "my runs"
    lines = make(settings).script(Launch("mpi", 3, (blank,), ("r.1",)), blank).splitlines()
    assert {f'#SBATCH --output="{blank}/launcher.log"', f'#SBATCH --chdir="{blank}"'} <= set(lines)
    assert slurm_words.exit_status("JobState=FAILED ExitCode=3:0") == 3
    assert slurm_words.exit_status("JobState=FAILED ExitCode=0:9") == -9
