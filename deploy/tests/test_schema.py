"""The JSON schema of schedules accepts the schedules that are made, and little else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import DEPLOY, compact

SCHEMA = json.loads((DEPLOY.parent / "spec/schedule.schema.json").read_text())


@pytest.fixture(
    scope="module",
    params=[
        ["--shards", "3"],
        ["--job-memory", "128MiB"],
        ["--archive"],
        ["--ranges", "2h,4h"],
        ["--layout", "bitpacked"],
        ["--layout", "fixed"],
    ],
)
def schedule(request: pytest.FixtureRequest, blocks: Path) -> dict[str, Any]:
    made = compact("schedule", blocks, *request.param)
    assert made.returncode == 0, made.stderr
    schedule: dict[str, Any] = json.loads(made.stdout)
    assert schedule["jobs"]
    return schedule


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each member of an object, at any depth."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield (*path, name)
            yield from places(member, (*path, name))
    elif isinstance(value, list):
        for number, member in enumerate(value[:2]):
            yield from places(member, (*path, number))


def parent(schedule: dict[str, Any], path: tuple[Any, ...]) -> Any:
    value: Any = schedule
    for step in path[:-1]:
        value = value[step]
    return value


def test_schedules_match_the_schema(schedule: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(schedule, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_each_member_is_required_and_typed(schedule: dict[str, Any], tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    paths = list(places(schedule))
    assert len(paths) > 30
    for path in paths:
        without, mistyped, beside = (copy.deepcopy(schedule) for _ in range(3))
        del parent(without, path)[path[-1]]
        parent(mistyped, path)[path[-1]] = {"not": "expected"}
        parent(beside, path)["unknown"] = 1
        for changed in (without, mistyped, beside):
            assert not validator.is_valid(changed), path
        file = tmp_path / "schedule.json"
        file.write_text(json.dumps(mistyped))
        refused = compact("status", "--schedule", file)
        assert refused.returncode == 2, (path, refused.stderr)
