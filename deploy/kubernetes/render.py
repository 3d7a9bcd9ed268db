"""Writes the Kubernetes manifests of a compaction schedule: a ConfigMap, an Indexed Job per stage, and the commit.

Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
# A ConfigMap holds at most 1 MiB.
MAX_CONFIG_MAP = MIB - 4096
# Maximum number of indexes that Kubernetes allows for a Job with backoffLimitPerIndex.
MAX_COMPLETIONS = 100_000
# The estimate of the schedule is meant to be too large. A quarter more is for its errors.
MARGIN = 1.25
# The process itself, and pages of files that the kernel could not free yet.
PROCESS = 128 * MIB
# A commit verifies one block at a time.
COMMIT = 512 * MIB


class UsageError(Exception):
    """A schedule or arguments that no manifest can be made from."""


def ceil_mebibytes(count: float) -> int:
    return -int(-count // MIB)


def fill(template: str, values: dict[str, Any]) -> str:
    """Fills in a template. JSON is YAML, so that no value can break the document."""
    # The first line tells that it is a template.
    text = (HERE / template).read_text(encoding="utf-8").partition("\n")[2]
    return Template(text).substitute({name: json.dumps(value) for name, value in values.items()})


def read_schedule(source: str) -> tuple[str, dict[str, Any]]:
    text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    try:
        schedule = json.loads(text)
        if schedule["chronoxide_schedule"] != 1:
            raise UsageError(f"{source}: version {schedule['chronoxide_schedule']} of schedules is not supported")
        if not all({"stage", "memory", "inputs"} <= job.keys() for job in schedule["jobs"]):
            raise UsageError(f"{source}: not a valid schedule: a job has no stage, memory or inputs")
        if "://" not in schedule["location"]:
            folder = schedule["location"]
            raise UsageError(f"{source}: the schedule compacts the folder {folder}, which pods cannot see")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{source}: not a valid schedule: {error!r}") from error
    if not schedule["jobs"]:
        raise UsageError(f"{source}: the schedule has no jobs: nothing to do")
    return text, schedule


def config_map(name: str, text: str) -> str:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "chronoxide-compact"}},
        "immutable": True,
        "data": {"schedule.json": text},
    }
    return json.dumps(manifest, indent=2) + "\n"


def bytes_read(schedule: dict[str, Any], stage: int) -> int:
    """Returns the bytes that the largest job of a stage fetches. Outputs of stage 1 count as large as their inputs."""
    merges: dict[str, int] = {}
    largest = 0
    for job in schedule["jobs"]:
        size = sum(block.get("bytes", 0) for block in job["inputs"])
        merges[job["merge"]] = merges.get(job["merge"], 0) + size
        largest = max(largest, size if job["stage"] == 1 else merges[job["merge"]])
    return largest


def manifests(arguments: argparse.Namespace) -> dict[str, str]:
    """Returns the manifests by the names of their files, in the order in which they are applied."""
    text, schedule = read_schedule(arguments.schedule)
    prefix = f"chronoxide-{schedule['id'][:12]}"
    files: dict[str, str] = {}
    if arguments.schedule_url is None:
        if len(text.encode()) > MAX_CONFIG_MAP:
            reason = "too large for a ConfigMap: upload it, and name it with --schedule-url"
            raise UsageError(f"{arguments.schedule}: {reason}")
        files["schedule.yaml"] = config_map(prefix, text)
    common = {
        "schedule_id": schedule["id"],
        "schedule": arguments.schedule_url or "/schedule/schedule.json",
        "config_map": prefix,
        "is_schedule_elsewhere": arguments.schedule_url is not None,
        "image": arguments.image,
        "secret": arguments.secret,
        "retries": arguments.retries,
    }
    for stage in (1, 2):
        jobs = [job for job in schedule["jobs"] if job["stage"] == stage]
        if not jobs:
            continue
        if len(jobs) > MAX_COMPLETIONS:
            raise UsageError(f"stage {stage} has {len(jobs)} jobs, and a Kubernetes Job can have {MAX_COMPLETIONS}")
        limit = ceil_mebibytes(max(job["memory"] for job in jobs) * MARGIN)
        cache = ceil_mebibytes(2 * bytes_read(schedule, stage)) + 512
        files[f"compact-stage-{stage}.yaml"] = fill(
            "stage.yaml",
            common
            | {
                "name": f"{prefix}-stage-{stage}",
                "stage": str(stage),
                "completions": len(jobs),
                "parallelism": min(arguments.parallelism, len(jobs)),
                "max_failed": min(arguments.max_failed, len(jobs)),
                "memory_limit": f"{limit}MiB",
                "memory": f"{limit + PROCESS // MIB}Mi",
                "cache_size": f"{cache}MiB",
                "cache_volume": f"{2 * cache}Mi",
            },
        )
    command = ["commit", "--schedule", common["schedule"], "--json", "--quiet"]
    if arguments.delete_inputs:
        command += ["--delete-inputs", "--grace", arguments.grace]
    largest = ceil_mebibytes(bytes_read(schedule, 2))
    files["commit.yaml"] = fill(
        "commit.yaml",
        common
        | {
            "name": f"{prefix}-commit",
            "commit_arguments": command,
            "memory": f"{COMMIT // MIB + largest}Mi",
            "cache_volume": f"{2 * largest + 512}Mi",
        },
    )
    return files


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="render.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("schedule", metavar="FILE", help="the schedule, or `-` for standard input")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the manifests")
    parser.add_argument("--image", required=True, help="image with chronoxide-compact, such as registry/name:1.0")
    parser.add_argument("--schedule-url", metavar="URL", help="where pods read the schedule [default: a ConfigMap]")
    parser.add_argument("--secret", default="chronoxide-credentials", metavar="NAME", help="Secret with credentials")
    parser.add_argument("--parallelism", type=positive, default=16, metavar="N", help="pods at a time [default: 16]")
    parser.add_argument("--retries", type=positive, default=3, metavar="N", help="retries per job [default: 3]")
    parser.add_argument(
        "--max-failed", type=positive, default=10, metavar="N", help="failed jobs that end a stage [default: 10]"
    )
    parser.add_argument("--delete-inputs", action="store_true", help="the commit marks inputs for deletion")
    parser.add_argument("--grace", default="1h", metavar="DURATION", help="time that readers have [default: 1h]")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    try:
        files = manifests(arguments)
        folder = Path(arguments.output)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            print(folder / name)
    except UsageError as error:
        print(f"render.py: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"render.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
