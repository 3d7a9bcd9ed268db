"""Manifests: valid by the schemas of Kubernetes, and with the figures of the schedule."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from conftest import COMPACT, DEPLOY, Planned, binary, compact

VERSIONS = ["1.33", "1.37"]
KUBERNETES = DEPLOY / "kubernetes"
MIB = 1 << 20


def render(schedule: Path, output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", KUBERNETES / "render.py", schedule, "-o", output, "--image", "registry/compact:1"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


@pytest.fixture
def remote(scheduled: Planned) -> Planned:
    """The schedule, with a location that pods can see."""
    scheduled.schedule["location"] = "s3://metrics/blocks/"
    scheduled.path.write_text(json.dumps(scheduled.schedule))
    return scheduled


@pytest.fixture
def rendered(remote: Planned, tmp_path: Path) -> dict[str, dict[str, Any]]:
    done = render(remote.path, tmp_path / "out", "--parallelism", "3", "--delete-inputs", "--grace", "2h")
    assert done.returncode == 0, done.stderr
    paths = [Path(line) for line in done.stdout.splitlines()]
    names = ["schedule.yaml", "compact-stage-1.yaml", "compact-stage-2.yaml", "commit.yaml"]
    assert [path.name for path in paths] == names
    return {path.name: load(path) for path in paths}


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_are_valid(rendered: dict[str, dict[str, Any]], version: str) -> None:
    for manifest in [*rendered.values(), load(KUBERNETES / "cronjob.yaml")]:
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_validation_can_fail(rendered: dict[str, dict[str, Any]], version: str) -> None:
    manifest = rendered["compact-stage-1.yaml"]
    manifest["spec"]["backoffLimitPerIndexes"] = 3
    with pytest.raises(kubernetes_validate.ValidationError, match="backoffLimitPerIndexes"):
        kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("stage", [1, 2])
def test_figures_are_those_of_the_schedule(remote: Planned, rendered: dict[str, dict[str, Any]], stage: int) -> None:
    jobs = [job for job in remote.jobs if job["stage"] == stage]
    job = rendered[f"compact-stage-{stage}.yaml"]["spec"]
    assert len(jobs) == 4
    assert (job["completionMode"], job["completions"], job["parallelism"]) == ("Indexed", 4, 3)
    assert 1 <= job["maxFailedIndexes"] <= job["completions"]
    [container] = job["template"]["spec"]["containers"]
    arguments = container["args"]
    assert arguments[arguments.index("--stage") :][:4] == ["--stage", str(stage), "--index", "$(JOB_COMPLETION_INDEX)"]
    largest = max(job["memory"] for job in jobs)
    [limit] = [re.fullmatch(r"(\d+)MiB", argument) for argument in arguments if argument.endswith("MiB")][:1]
    assert limit is not None
    assert largest <= int(limit[1]) * MIB
    memory = re.fullmatch(r"(\d+)Mi", container["resources"]["limits"]["memory"])
    assert memory is not None
    assert int(limit[1]) < int(memory[1])
    assert container["resources"]["requests"]["memory"] == container["resources"]["limits"]["memory"]


def test_exit_codes_that_cannot_pass_are_not_retried(rendered: dict[str, dict[str, Any]]) -> None:
    cronjob = load(KUBERNETES / "cronjob.yaml")["spec"]["jobTemplate"]["spec"]
    for spec in [*(rendered[name]["spec"] for name in rendered if name != "schedule.yaml"), cronjob]:
        assert spec["template"]["spec"]["restartPolicy"] == "Never"
        rules = [rule for rule in spec["podFailurePolicy"]["rules"] if "onExitCodes" in rule]
        codes = {code: rule["action"] for rule in rules for code in rule["onExitCodes"]["values"]}
        assert sorted(codes) == [2, 3, 4, 5]
        assert set(codes.values()) <= {"FailJob", "FailIndex"}


def test_the_binary_knows_all_arguments(rendered: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """A schedule that is missing is found out after the arguments are read."""
    pod = load(KUBERNETES / "cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    containers = [*pod["initContainers"], *pod["containers"]]
    assert [container["args"][0] for container in containers] == ["schedule", "run", "commit", "clean"]
    assert {container["image"] for container in containers} == {"chronoxide-compact:1.0.0-rc.1"}
    for name in ("compact-stage-1.yaml", "compact-stage-2.yaml", "commit.yaml"):
        containers += rendered[name]["spec"]["template"]["spec"]["containers"]
    empty = tmp_path / "empty"
    empty.mkdir()
    for container in containers:
        arguments = [argument.replace("$(JOB_COMPLETION_INDEX)", "0") for argument in container["args"]]
        # Buckets cannot be reached here.
        arguments = [str(tmp_path / "missing") if "://" in argument else argument for argument in arguments]
        arguments = [argument.replace("/work/", f"{empty}/") for argument in arguments]
        done = subprocess.run([binary(COMPACT), *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, "Usage" in done.stderr) == (1, False), done.stderr


def cron_commands(folder: Path, work: Path) -> list[list[str]]:
    """The commands of the CronJob, for a folder of this machine."""
    pod = load(KUBERNETES / "cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    steps = [container["args"] for container in [*pod["initContainers"], *pod["containers"]]]
    return [[str(folder) if "://" in word else word.replace("/work/", f"{work}/") for word in words] for words in steps]


def test_the_commands_of_the_cron_job_compact_a_folder(scheduled: Planned, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    steps = cron_commands(scheduled.folder, work)
    for words in steps:
        done = compact(*words)
        assert done.returncode == 0, done.stderr
    schedule = json.loads((work / "schedule.json").read_text())
    committed = scheduled.folder / "chronoxide-schedules" / schedule["id"] / "committed.json"
    assert json.loads(committed.read_text())["content"]["delete_inputs"] is True
    assert len(list(scheduled.folder.glob("*.cx"))) > 10


def test_an_hour_with_nothing_to_do_ends_well(tmp_path: Path) -> None:
    work, empty = tmp_path / "work", tmp_path / "nothing"
    work.mkdir()
    empty.mkdir()
    for words in cron_commands(empty, work):
        done = compact(*words)
        assert done.returncode == 0, done.stderr


def test_the_config_map_is_the_schedule(remote: Planned, rendered: dict[str, dict[str, Any]]) -> None:
    config_map = rendered["schedule.yaml"]
    assert json.loads(config_map["data"]["schedule.json"]) == remote.schedule
    for name in ("compact-stage-1.yaml", "compact-stage-2.yaml", "commit.yaml"):
        volumes = {volume["name"]: volume for volume in rendered[name]["spec"]["template"]["spec"]["volumes"]}
        assert volumes["schedule"]["configMap"] == {"name": config_map["metadata"]["name"], "optional": False}


def test_a_schedule_can_be_given_by_url(remote: Planned, tmp_path: Path) -> None:
    done = render(remote.path, tmp_path / "out", "--schedule-url", "s3://metrics/schedule.json")
    assert done.returncode == 0, done.stderr
    assert "schedule.yaml" not in done.stdout
    for path in (tmp_path / "out").iterdir():
        manifest = load(path)
        kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)
        [container] = manifest["spec"]["template"]["spec"]["containers"]
        assert container["args"][1:3] == ["--schedule", "s3://metrics/schedule.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"location": "/var/lib/metrics"}, "the folder /var/lib/metrics, which pods cannot see"),
        ({"jobs": []}, "the schedule has no jobs"),
        ({"chronoxide_schedule": 2}, "version 2 of schedules is not supported"),
        ({"padding": "x" * MIB}, "too large for a ConfigMap"),
        ({"jobs": [{"id": "m1"}]}, "not a valid schedule"),
    ],
)
def test_schedules_that_pods_cannot_run_are_refused(
    remote: Planned, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    remote.path.write_text(json.dumps(remote.schedule | change))
    done = render(remote.path, tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_hostile_values_stay_values(remote: Planned, tmp_path: Path) -> None:
    image = 'x"\nkind: Pod #${stage} $(JOB)'
    done = render(remote.path, tmp_path / "out", "--secret", image)
    assert done.returncode == 0, done.stderr
    manifest = load(tmp_path / "out/commit.yaml")
    [container] = manifest["spec"]["template"]["spec"]["containers"]
    assert manifest["kind"] == "Job"
    assert container["envFrom"] == [{"secretRef": {"name": image}}]
