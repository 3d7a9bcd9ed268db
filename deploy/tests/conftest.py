"""Blocks, schedules and tools for the tests of the runners."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

DEPLOY = Path(__file__).resolve().parent.parent
COMPACT = "chronoxide-compact"


def need(tool: str | Path) -> str:
    """Returns the path of a tool. Skips the test if it is missing, or fails if all tools must be there."""
    if found := shutil.which(tool):
        return str(found)
    message = f"{tool} is missing"
    if os.environ.get("CHRONOXIDE_REQUIRE_ALL"):
        pytest.fail(message)
    pytest.skip(message)


def binary(name: str) -> str:
    return need(Path(os.environ.get("CHRONOXIDE_BIN", DEPLOY.parent / "target/debug")) / name)


def compact(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(COMPACT), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["CHRONOXIDE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten blocks of an hour each. Tests get copies."""
    folder = tmp_path_factory.mktemp("blocks")
    capture = subprocess.run(
        [
            *(binary("chronoxide-workload"), "--series", "20000", "--windows", "0..10"),
            *("--format", "otlp-proto"),
        ],
        capture_output=True,
        check=True,
    )
    subprocess.run(
        [binary("chronoxide-ingest"), "-", "--no-metadata", "--window", "1h", "-o", f"{folder}/", "--quiet"],
        input=capture.stdout,
        check=True,
    )
    assert len(list(folder.glob("*.cx"))) == 10
    return folder


class Planned:
    """A folder of blocks, and a schedule of it in a file."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.folder, self.path = folder, path
        self.schedule: dict[str, Any] = json.loads(path.read_text())

    @property
    def jobs(self) -> list[dict[str, Any]]:
        return self.schedule["jobs"]

    def status(self) -> dict[str, Any]:
        done = compact("status", "--schedule", self.path, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def scheduled(blocks: Path, tmp_path: Path) -> Planned:
    folder, path = tmp_path / "hours", tmp_path / "schedule.json"
    shutil.copytree(blocks, folder)
    done = compact("schedule", folder, "--shards", "2", "-o", path)
    assert done.returncode == 0, done.stderr
    return Planned(folder, path)
