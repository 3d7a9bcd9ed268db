"""Runs the jobs of a compaction schedule on Ray.

Each job is one Ray task, and each task is one `chronoxide-compact run`. A task reserves the memory that the schedule
states for its job. A task of stage 2 waits for the tasks whose outputs it reads. The schedule travels with the tasks,
so that nodes need the binary and access to the blocks, and nothing else.

Standard output has one JSON object per line: the results of jobs, and of the commit. Messages go to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

# Ray would report its use over the network.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Without a cluster, Ray listens on the loopback address alone. It reads this when it is imported.
if not any(word.partition("=")[0] == "--address" for word in sys.argv):
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

import ray
from ray import cloudpickle
from ray.exceptions import RayError, RayTaskError

# Exit codes of Chronoxide.
OK, IO, USAGE, CORRUPT, UNSUPPORTED, FINDINGS, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
FINAL = (USAGE, CORRUPT, UNSUPPORTED, FINDINGS)

# Ray refuses a smaller one. Results are short, so that nothing else is stored.
OBJECT_STORE_BYTES = 80 << 20


@dataclass(frozen=True)
class Job:
    """A job of a schedule."""

    id: str
    memory: int
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """End of a command that need not run again: it succeeded, or it cannot succeed later."""

    code: int
    output: str = ""
    message: str = ""


class Failed(Exception):
    """A command that may succeed if it runs again."""


class UsageError(Exception):
    """Arguments, a schedule or a cluster that no run can work with."""


def invoke(command: list[str], schedule: bytes, *needed: Result) -> Result:
    """Runs a command with the schedule as standard input, unless a job that it needs has failed."""
    if any(result.code != OK for result in needed):
        return Result(IO)
    try:
        done = subprocess.run(command, input=schedule, capture_output=True, check=False)
    except OSError as error:
        return Result(USAGE, message=f"--binary {command[0]}: {error.strerror} (on node {os.uname().nodename})")
    message = done.stderr.decode(errors="replace").strip()
    if done.returncode < 0:
        raise Failed(f"killed by {signal.Signals(-done.returncode).name}")
    if done.returncode in (IO, INTERRUPTED):
        raise Failed(message)
    if done.returncode != OK and done.returncode not in FINAL:
        return Result(IO, message=f"unexpected exit code {done.returncode}: {message}")
    return Result(done.returncode, done.stdout.decode(errors="replace").strip(), message)


def read_schedule(source: str) -> tuple[bytes, list[Job]]:
    """Reads a schedule from a file, or from standard input."""
    if "://" in source:
        raise UsageError(f"{source}: URLs are not read here; download the schedule, or pipe it to `--schedule -`")
    text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    try:
        schedule = json.loads(text)
        if schedule["chronoxide_schedule"] != 1:
            raise UsageError(f"{source}: version {schedule['chronoxide_schedule']} of schedules is not supported")
        jobs = [
            Job(job["id"], job["memory"], tuple(sorted({i["job"] for i in job["inputs"] if "job" in i})))
            for job in sorted(schedule["jobs"], key=lambda job: job["index"])
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{source}: not a valid schedule: {error!r}") from error
    known: set[str] = set()
    for job in jobs:
        if missing := set(job.needs) - known:
            needed = ", ".join(sorted(missing))
            raise UsageError(f"{source}: not a valid schedule: job {job.id} needs {needed} before it")
        known.add(job.id)
    return text, jobs


def mebibytes(count: float) -> str:
    return f"{count / (1 << 20):,.1f} MiB"


def check_fit(jobs: list[Job], cpus: int) -> None:
    """Refuses a job that no node can hold: Ray would wait for such a node without end."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    offers = [(node.get("memory", 0), node.get("CPU", 0)) for node in nodes]
    for job in sorted(jobs, key=lambda job: -job.memory):
        if not any(memory >= job.memory and cores >= cpus for memory, cores in offers):
            largest = ", ".join(f"{mebibytes(memory)} and {cores:g} CPUs" for memory, cores in sorted(offers)[-1:])
            raise UsageError(
                f"job {job.id} needs {mebibytes(job.memory)} of memory and {cpus} CPUs, more than any node has "
                f"(largest: {largest}): make a schedule with a smaller --job-memory, or add a larger node"
            )


class Progress:
    """A line on the terminal. Silent if standard error is not one."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.done, self.failed = total, 0, 0
        self.shown = sys.stderr.isatty() and not quiet

    def draw(self) -> None:
        if self.shown:
            failed = f", {self.failed} failed" if self.failed else ""
            print(f"\r\033[K{self.done} of {self.total} jobs done{failed}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def task_of(arguments: argparse.Namespace, **options: Any) -> Any:
    """Returns the task that runs a command. Ray runs it again if its worker dies, or if it raises `Failed`."""
    return ray.remote(invoke).options(
        num_cpus=arguments.cpus, max_retries=arguments.retries, retry_exceptions=[Failed], **options
    )


def submit(arguments: argparse.Namespace, schedule: Any, jobs: list[Job]) -> Iterator[tuple[Job, Any]]:
    """Submits jobs, at most `--parallel` at a time, and yields each when it has ended."""
    refs: dict[str, Any] = {}
    running: dict[Any, Job] = {}
    waiting = iter(jobs)
    while True:
        # Jobs of stage 2 come last, so that those that they need are running or done.
        while (arguments.parallel is None or len(running) < arguments.parallel) and (job := next(waiting, None)):
            command = [arguments.binary, "run", "--schedule", "-", "--job", job.id, "--json", "--quiet"]
            command += ["--threads", str(arguments.cpus), "--memory-limit", str(job.memory)]
            task = task_of(arguments, name=job.id, memory=job.memory)
            ref = refs[job.id] = task.remote(command, schedule, *(refs[needed] for needed in job.needs))
            running[ref] = job
        if not running:
            return
        for ref in ray.wait(list(running), num_returns=1)[0]:
            yield running.pop(ref), ref


def result_of(ref: Any) -> Result:
    """Returns the result of a task. A task whose retries are used up ends as an error of input and output."""
    try:
        result: Result = ray.get(ref)
        return result
    except RayTaskError as error:
        return Result(IO, message=str(error.cause) if isinstance(error.cause, Failed) else str(error))
    except RayError as error:
        return Result(IO, message=str(error).strip() or type(error).__name__)


def tell(message: str) -> None:
    print(f"chronoxide-ray: {message}", file=sys.stderr, flush=True)


def run(arguments: argparse.Namespace, text: bytes, jobs: list[Job], data: TextIO) -> int:
    """Runs all jobs and the commit. Returns the exit code of the first failure."""
    schedule = ray.put(text)
    progress = Progress(len(jobs), arguments.quiet)
    progress.draw()
    code, failed = OK, set[str]()
    for job, ref in submit(arguments, schedule, jobs):
        if blocked := sorted(failed & set(job.needs)):
            failed.add(job.id)
            progress.clear()
            tell(f"job {job.id}: not run, since {blocked[0]} has failed")
        elif (result := result_of(ref)).code == OK:
            progress.done += 1
            progress.clear()
            print(result.output, file=data, flush=True)
        else:
            failed.add(job.id)
            code = code or result.code
            progress.clear()
            tell(f"error: job {job.id}: {result.message}")
        progress.failed = len(failed)
        progress.draw()
    progress.clear()
    if code != OK or not arguments.commit:
        return code
    command = [arguments.binary, "commit", "--schedule", "-", "--json", "--quiet"]
    if arguments.delete_inputs:
        command += ["--delete-inputs", "--grace", arguments.grace]
    result = result_of(task_of(arguments, name="commit").remote(command, schedule))
    if result.code == OK:
        print(result.output, file=data, flush=True)
    else:
        tell(f"error: commit: {result.message}")
    return result.code


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chronoxide-ray",
        allow_abbrev=False,
        description="Run the jobs of a Chronoxide compaction schedule on Ray",
        epilog="Exit codes: 0 done; 1 a job failed after its retries; 2 invalid arguments or schedule, or a job that "
        "no node can hold; 3 an input is damaged; 4 an input has an unsupported version or feature; 5 the blocks have "
        "changed since the schedule was made; 130 interrupted. Jobs that are done are not done again.",
    )
    parser.add_argument("--schedule", required=True, metavar="FILE", help="the schedule, or `-` for standard input")
    parser.add_argument("--address", default="local", help="address of a Ray cluster [default: this machine alone]")
    parser.add_argument(
        "--binary", default="chronoxide-compact", metavar="PATH", help="chronoxide-compact on the nodes"
    )
    parser.add_argument("--parallel", type=positive, metavar="N", help="maximum number of jobs at a time")
    parser.add_argument("--cpus", type=positive, default=1, metavar="N", help="CPUs and threads per job [default: 1]")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="retries per job [default: 3]")
    parser.add_argument("--autoscaling", action="store_true", help="wait for nodes that are large enough")
    parser.add_argument("--commit", action="store_true", help="publish the outputs when all jobs are done")
    parser.add_argument("--delete-inputs", action="store_true", help="with --commit, delete the inputs later")
    parser.add_argument(
        "--grace", metavar="DURATION", help="with --delete-inputs, time that readers of the inputs have [default: 1h]"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    arguments = parser.parse_args(argv)
    if arguments.delete_inputs and not arguments.commit:
        parser.error("--delete-inputs needs --commit")
    if arguments.grace is not None and not arguments.delete_inputs:
        parser.error("--grace needs --delete-inputs")
    arguments.grace = arguments.grace or "1h"
    return arguments


def connect(arguments: argparse.Namespace) -> None:
    """Connects to the cluster, or starts Ray on this machine."""
    # Nodes need not have this module.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if arguments.address != "local":
        ray.init(address=arguments.address, **quiet)
        return
    cpus = (arguments.parallel or 0) * arguments.cpus or max(os.cpu_count() or 1, arguments.cpus)
    ray.init(address="local", num_cpus=cpus, object_store_memory=OBJECT_STORE_BYTES, include_dashboard=False, **quiet)


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    data = sys.stdout
    try:
        text, jobs = read_schedule(arguments.schedule)
        # Ray prints retries to standard output.
        with contextlib.redirect_stdout(sys.stderr):
            connect(arguments)
            if not arguments.autoscaling:
                check_fit(jobs, arguments.cpus)
            return run(arguments, text, jobs, data)
    except UsageError as error:
        tell(f"error: {error}")
        return USAGE
    except BrokenPipeError:
        # The reader has gone. Nothing can be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), data.fileno())
        return IO
    except (OSError, RayError) as error:
        tell(f"error: {error}")
        return IO
    except KeyboardInterrupt:
        tell("interrupted; jobs that are done are kept, and the same command runs the others")
        return INTERRUPTED
    finally:
        with contextlib.redirect_stdout(sys.stderr):
            ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
