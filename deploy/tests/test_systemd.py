"""Units of systemd, checked by its own tool."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from conftest import COMPACT, DEPLOY, binary, need

INSTALLED = "/usr/local/bin/chronoxide-compact"
INSTANCE = r"chronoxide-compact@var-lib-my\x2dmetrics"


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """An instance of each unit, with the binary of this run."""
    for kind in ("service", "timer"):
        text = (DEPLOY / f"systemd/chronoxide-compact@.{kind}").read_text()
        (tmp_path / f"{INSTANCE}.{kind}").write_text(text.replace(INSTALLED, binary(COMPACT)))
    return tmp_path


def verify(units: Path) -> subprocess.CompletedProcess[str]:
    command = [need("systemd-analyze"), "verify", "--man=no", *sorted(units.iterdir())]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_units_are_valid(units: Path) -> None:
    done = verify(units)
    assert (done.returncode, done.stderr) == (0, "")


def test_verification_can_fail(units: Path) -> None:
    service = units / f"{INSTANCE}.service"
    service.write_text(service.read_text().replace("ProtectSystem=strict", "ProtectSystems=strict"))
    assert "ProtectSystems" in verify(units).stderr


def test_the_service_is_hardened(units: Path) -> None:
    command = [need("systemd-analyze"), "security", "--offline=true", "--no-pager", "--threshold=15"]
    done = subprocess.run([*command, units / f"{INSTANCE}.service"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_compacts_a_folder(units: Path, blocks: Path, tmp_path: Path) -> None:
    text = (units / f"{INSTANCE}.service").read_text()
    [command] = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    folder = tmp_path / "my-metrics"
    folder.mkdir()
    for path in blocks.glob("*.cx"):
        (folder / path.name).write_bytes(path.read_bytes())
    words = [word.replace("%f", str(folder)) for word in command.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = sorted(path.name for path in folder.glob("*.cx"))
    assert 1 <= len(files) < 10
    again = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (0, "")
    assert sorted(path.name for path in folder.glob("*.cx")) == files
