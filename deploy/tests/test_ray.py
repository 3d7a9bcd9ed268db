"""The Ray runner, with Ray on this machine and the binary."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import COMPACT, Planned, binary, compact, need

RUNNER = Path(sys.executable).with_name("chronoxide-ray")


def run(scheduled: Planned, *arguments: str, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [need(RUNNER), "--schedule", str(scheduled.path)]
    if "--parallel" not in arguments:
        command += ["--parallel", "2"]
    if "--binary" not in arguments:
        command += ["--binary", str(program or binary(COMPACT))]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=100)


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrapper(folder: Path, body: str) -> Path:
    """Writes a program that logs its job and does `body` before or instead of the binary's work."""
    path = folder / "wrapped"
    script = f"""#!/bin/sh
case $1 in run) name=$5 ;; *) name=$1 ;; esac
echo "$name" >>"{folder}/log"
runs=$(grep -cx "$name" "{folder}/log")
real="{binary(COMPACT)}"
{body}
exec "$real" "$@"
"""
    path.write_text(script)
    path.chmod(0o755)
    return path


def log(folder: Path) -> list[str]:
    return (folder / "log").read_text().split()


def test_all_jobs_are_done_and_nothing_is_done_twice(scheduled: Planned) -> None:
    done = run(scheduled)
    assert (done.returncode, done.stderr) == (0, "")
    results = lines(done)
    assert sorted(result["job"] for result in results) == sorted(job["id"] for job in scheduled.jobs)
    assert {result["was_done"] for result in results} == {False}
    # Jobs of stage 2 end after those that they read.
    ended = [result["job"] for result in results]
    for job in scheduled.jobs:
        for needed in (block["job"] for block in job["inputs"] if "job" in block):
            assert ended.index(needed) < ended.index(job["id"])
    assert scheduled.status()["state"] == "ready"

    again = run(scheduled, "--commit")
    assert (again.returncode, again.stderr) == (0, "")
    *results, committed = lines(again)
    assert len(results) == len(scheduled.jobs)
    assert {result["was_done"] for result in results} == {True}
    assert committed["series_in"] == sum(merge["totals"]["series"] for merge in scheduled.schedule["merges"])
    assert committed["series_out"] + committed["duplicates"] == committed["series_in"]
    assert scheduled.status()["state"] == "committed"


def test_killed_workers_and_processes_are_retried(scheduled: Planned, tmp_path: Path, blocks: Path) -> None:
    seed = int(os.environ.get("CHRONOXIDE_SEED", random.randrange(1 << 32)))
    print(f"CHRONOXIDE_SEED={seed}")
    chance = random.Random(seed)
    # The first run of each job kills itself or its Ray worker, after a moment.
    cases = []
    for number, job in enumerate(scheduled.jobs):
        victim = "$PPID" if number % 2 else "$!"
        moment = chance.uniform(0, 0.05)
        cases.append(f'{job["id"]}) exec 3<&0; "$real" "$@" <&3 & sleep {moment:.3f}; kill -9 {victim}; wait $! ;;')
    # `wait` gives 137; a process that kills itself dies by a signal, as the binary would.
    cases.append('*) exec "$real" "$@" ;;')
    body = f'if [ "$runs" = 1 ]; then case $name in\n{chr(10).join(cases)}\nesac; kill -9 $$; fi'
    done = run(scheduled, "--commit", program=wrapper(tmp_path, body))
    assert done.returncode == 0, done.stderr
    assert len(lines(done)) == len(scheduled.jobs) + 1
    runs = log(tmp_path)
    for job in scheduled.jobs:
        assert runs.count(job["id"]) >= 2, f"{job['id']} was not run again"
    assert scheduled.status()["state"] == "committed"
    # The same bytes as without failures.
    other = tmp_path / "other"
    other.mkdir()
    for path in blocks.glob("*.cx"):
        (other / path.name).write_bytes(path.read_bytes())
    assert compact("schedule", other, "--shards", "2", "-o", tmp_path / "other.json").returncode == 0
    assert compact("run", "--schedule", tmp_path / "other.json", "--all").returncode == 0
    assert compact("commit", "--schedule", tmp_path / "other.json").returncode == 0
    published = {path.name: path.read_bytes() for path in scheduled.folder.glob("*.cx")}
    assert published == {path.name: path.read_bytes() for path in other.glob("*.cx")}


def test_a_damaged_input_ends_with_3_and_is_not_retried(scheduled: Planned, tmp_path: Path) -> None:
    job = scheduled.jobs[0]
    damaged = scheduled.folder / job["inputs"][0]["key"]
    content = bytearray(damaged.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 16] = bytes(byte ^ 0xFF for byte in content[middle : middle + 16])
    damaged.write_bytes(content)
    done = run(scheduled, "--commit", program=wrapper(tmp_path, ""))
    assert done.returncode == 3, done.stderr
    assert f"error: job {job['id']}: " in done.stderr
    assert damaged.name in done.stderr
    runs = log(tmp_path)
    assert runs.count(job["id"]) == 1
    assert "commit" not in runs
    # Jobs of the other merge are done, and those that need the failed one are not run.
    ended = {result["job"] for result in lines(done)}
    for other in scheduled.jobs:
        needs = {block.get("job") for block in other["inputs"]}
        assert (other["id"] in ended) == (other["id"] != job["id"] and job["id"] not in needs), other["id"]
        assert (f"job {other['id']}: not run, since {job['id']} has failed" in done.stderr) == (job["id"] in needs)


def test_only_errors_that_can_pass_are_retried(scheduled: Planned, tmp_path: Path) -> None:
    # Four jobs that need no other, one after the other.
    scheduled.schedule["jobs"] = scheduled.jobs[:4]
    scheduled.path.write_text(json.dumps(scheduled.schedule))
    codes = dict(zip((job["id"] for job in scheduled.jobs), (1, 2, 5, 101), strict=True))
    cases = "".join(f"{job}) echo broken {code} >&2; exit {code} ;; " for job, code in codes.items())
    program = wrapper(tmp_path, f"case $name in {cases} esac")
    done = run(scheduled, "--retries", "2", "--parallel", "1", "--commit", program=program)
    # That of the first job.
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    # Ray tells about retries in other lines.
    errors = {line for line in done.stderr.splitlines() if line.startswith("chronoxide-ray: error: ")}
    first, second, third, fourth = codes
    assert errors == {
        f"chronoxide-ray: error: job {first}: broken 1",
        f"chronoxide-ray: error: job {second}: broken 2",
        f"chronoxide-ray: error: job {third}: broken 5",
        f"chronoxide-ray: error: job {fourth}: unexpected exit code 101: broken 101",
    }
    assert log(tmp_path) == [first, first, first, second, third, fourth]


def test_a_job_that_no_node_can_hold_is_refused(scheduled: Planned) -> None:
    scheduled.jobs[-1]["memory"] = 1 << 60
    scheduled.path.write_text(json.dumps(scheduled.schedule))
    done = run(scheduled)
    assert done.returncode == 2
    assert f"job {scheduled.jobs[-1]['id']} needs 1,099,511,627,776.0 MiB of memory and 1 CPUs" in done.stderr
    assert done.stdout == ""


def listening(process: int) -> set[str]:
    """Addresses, as /proc shows them, on which a process and its descendants listen."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    family, sockets = [process], set()
    for member in family:
        family += children.get(member, [])
        with contextlib.suppress(OSError):
            for link in Path(f"/proc/{member}/fd").iterdir():
                with contextlib.suppress(OSError):
                    sockets.add(os.readlink(link))
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ray_on_this_machine_listens_on_the_loopback_address_alone(scheduled: Planned, tmp_path: Path) -> None:
    program = wrapper(tmp_path, f'touch "{tmp_path}/started"; while [ ! -e "{tmp_path}/go" ]; do sleep 0.1; done')
    command = [need(RUNNER), "--schedule", str(scheduled.path), "--parallel", "1", "--binary", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as runner:
        try:
            deadline = time.monotonic() + 60
            while not (tmp_path / "started").exists():
                assert runner.poll() is None, "the runner has ended"
                assert time.monotonic() < deadline, "no job has started"
                time.sleep(0.1)
            addresses = listening(runner.pid)
        finally:
            (tmp_path / "go").touch()
            runner.communicate(timeout=60)
    assert runner.returncode == 0
    assert addresses
    assert addresses <= {"0100007F", "0000000000000000FFFF00000100007F"}


def test_a_binary_that_is_missing_is_named(scheduled: Planned) -> None:
    done = run(scheduled, "--binary", "/nowhere/compact")
    assert done.returncode == 2
    assert "--binary /nowhere/compact: No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (None, 1, "No such file or directory"),
        ("", 2, "not a valid schedule"),
        ("[]", 2, "not a valid schedule"),
        ('{"chronoxide_schedule": 2, "jobs": []}', 2, "version 2 of schedules is not supported"),
        (
            '{"chronoxide_schedule": 1, "jobs": [{"id": "a", "index": 0, "memory": 1, "inputs": [{"job": "b"}]}]}',
            2,
            "job a needs b before it",
        ),
    ],
)
def test_schedules_that_cannot_be_read_are_refused(tmp_path: Path, text: str | None, code: int, message: str) -> None:
    path = tmp_path / "schedule.json"
    if text is not None:
        path.write_text(text)
    done = subprocess.run([need(RUNNER), "--schedule", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
