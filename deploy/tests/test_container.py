"""The Containerfile: what can be checked without a container engine."""

from __future__ import annotations

import re

import tomllib
from conftest import DEPLOY
from dockerfile_parse import DockerfileParser

ROOT = DEPLOY.parent
FILE = DEPLOY / "container/Containerfile"


def instructions() -> list[tuple[str, str]]:
    with FILE.open("rb") as file:
        parsed = DockerfileParser(fileobj=file).structure
    return [(part["instruction"], part["value"]) for part in parsed if part["instruction"] != "COMMENT"]


def final_stage() -> list[tuple[str, str]]:
    parsed = instructions()
    last = max(number for number, (name, _) in enumerate(parsed) if name == "FROM")
    return parsed[last:]


def test_the_image_is_made_from_scratch_and_runs_as_no_root() -> None:
    known = {"FROM", "WORKDIR", "COPY", "ENV", "RUN", "LABEL", "USER", "ENTRYPOINT"}
    assert {name for name, _ in instructions()} <= known
    stage = final_stage()
    assert stage[0] == ("FROM", "scratch")
    assert ("USER", "65532:65532") in stage
    assert stage[-1] == ("ENTRYPOINT", '["/chronoxide-compact"]')
    # Nothing of the final stage can run: there is no shell.
    assert "RUN" not in {name for name, _ in stage}


def test_copied_files_exist() -> None:
    binary = "target/x86_64-unknown-linux-gnu/release/chronoxide-compact"
    build = " ".join(value for name, value in instructions() if name == "RUN")
    assert f"-p chronoxide-commands --bin {binary.rsplit('/', 1)[-1]}" in build
    sources = []
    for name, value in final_stage():
        if name == "COPY":
            option, *words, _ = value.split()
            assert option == "--from=build"
            sources += words
    ours = [source.removeprefix("/source/") for source in sources if source.startswith("/source/")]
    assert binary in ours
    for path in ours:
        assert path == binary or (ROOT / path).is_file(), path
    assert "/etc/ssl/certs/ca-certificates.crt" in sources


def test_the_build_has_the_toolchain_and_the_sources_that_it_needs() -> None:
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    package = tomllib.loads((ROOT / "commands/Cargo.toml").read_text())
    assert package["package"]["name"] == "chronoxide-commands"
    assert "chronoxide-compact" in [target["name"] for target in package["bin"]]
    [image] = [value for name, value in instructions() if name == "FROM" and value != "scratch"]
    assert re.search(r"rust:([0-9.]+)", image)[1] == manifest["workspace"]["package"]["rust-version"]
    ignored = (DEPLOY / "container/Containerfile.dockerignore").read_text().split()
    for member in manifest["workspace"]["members"]:
        assert member.split("/")[0] not in ignored
