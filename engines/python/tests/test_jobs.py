"""ingest and compact: results, progress, errors and interruptions."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import timedelta

import pyarrow
import pyarrow.parquet
import pytest
from conftest import BROKEN, GOLDEN, key

import chronoxide


def capture(path, rows):
    path.write_text("".join(json.dumps(labels) + "\n" for labels in rows), encoding="utf-8")
    return path


def test_a_block_of_parquet_has_the_same_series(block, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table(block.batches(strings="utf8")), tmp_path / "labels.parquet")
    done = chronoxide.ingest(tmp_path / "labels.parquet", tmp_path / "again.cx")
    assert done["paths"] == [tmp_path / "again.cx"]
    assert done["report"]["series"] == len(block)
    again = chronoxide.open(tmp_path / "again.cx")
    assert list(again) == list(block)


@pytest.mark.parametrize("layout", ["factored", "bitpacked", "fixed"])
def test_compacted_blocks_have_the_series_of_their_inputs(folder, rows, tmp_path, layout):
    inputs = folder.blocks if layout == "fixed" else [block.path for block in folder.blocks]
    done = chronoxide.compact(inputs, tmp_path / "all.cx", layout=layout)
    assert done["series_in"] == len(folder) and done["duplicates"] == 200
    assert done["series_out"] == len(rows)
    merged = chronoxide.open(tmp_path / "all.cx")
    assert sorted(map(key, merged)) == sorted(map(key, rows))
    assert all(os.path.exists(block.path) for block in folder.blocks)


def test_archives_are_smaller_and_have_the_same_series(folder, rows, tmp_path):
    rows_of = {}
    for name, archive in [("plain.cx", False), ("archive.cx", True)]:
        captured = chronoxide.ingest(
            capture(tmp_path / "rows.jsonl", rows), tmp_path / f"ingested-{name}", archive=archive
        )
        merged = chronoxide.compact(folder, tmp_path / f"merged-{name}", archive=archive)
        for path in captured["paths"] + merged["paths"]:
            rows_of[path.name] = sorted(map(key, chronoxide.open(path)))
    assert len(rows_of) == 4 and all(found == sorted(map(key, rows)) for found in rows_of.values())
    for job in ["ingested", "merged"]:
        sizes = [(tmp_path / f"{job}-{name}").stat().st_size for name in ["archive.cx", "plain.cx"]]
        assert sizes[0] < sizes[1]


def test_a_folder_is_compacted_with_its_options(folder, rows, tmp_path):
    done = chronoxide.compact(
        folder,
        tmp_path / "out",
        max_series=500,
        keep=['{service="cart"}', '{service="search"}'],
        drop=["up"],
        drop_labels=["note"],
        rename_labels={"pod": "k8s_pod"},
    )
    assert len(done["paths"]) > 1 and all(os.path.exists(path) for path in done["paths"])
    expected = set()
    for labels in rows:
        if labels["service"] in ("cart", "search") and labels["__name__"] != "up":
            labels = {name: value for name, value in labels.items() if name != "note"}
            labels["k8s_pod"] = labels.pop("pod")
            expected.add(key(labels))
    out = chronoxide.open(tmp_path / "out")
    assert {key(labels) for labels in out} == expected and len(out) == len(expected)


def test_windows_and_limits_make_several_blocks(tmp_path):
    text = "".join(f'up{{pod="{hour}"}} 1 {hour * 3_600_000}\n' for hour in range(1, 6))
    (tmp_path / "hours.prom").write_text(text, encoding="utf-8")
    done = chronoxide.ingest([tmp_path / "hours.prom"], tmp_path / "hours", window=timedelta(hours=1))
    assert len(done["paths"]) == 5
    done = chronoxide.ingest([tmp_path / "hours.prom"], f"{tmp_path}/two/", max_series=2)
    assert sorted(len(chronoxide.open(path)) for path in done["paths"]) == [1, 2, 2]


def test_progress_is_reported(rows, tmp_path, folder):
    source, seen = capture(tmp_path / "a.jsonl", rows), []
    chronoxide.ingest(source, tmp_path / "a.cx", progress=lambda *position: seen.append(position))
    assert seen[-1] == (str(source), source.stat().st_size, source.stat().st_size)
    phases = []
    chronoxide.compact(folder.path, tmp_path / "b.cx", progress=lambda phase, done, of: phases.append((phase, done, of)))
    assert phases[-1][0] == "write" and all(done <= of for _, done, of in phases)


def test_an_exception_of_progress_ends_the_run(rows, tmp_path):
    def stop(*_):
        raise KeyError("enough")

    source = capture(tmp_path / "a.jsonl", rows)
    with pytest.raises(KeyError, match="enough"):
        chronoxide.ingest(source, tmp_path / "a.cx", progress=stop)


def test_existing_files_are_kept(rows, tmp_path, block_path):
    source = capture(tmp_path / "a.jsonl", rows[:10])
    chronoxide.ingest(source, tmp_path / "a.cx")
    before = (tmp_path / "a.cx").read_bytes()
    capture(tmp_path / "a.jsonl", rows[:20])
    with pytest.raises(FileExistsError):
        chronoxide.ingest(source, tmp_path / "a.cx")
    with pytest.raises(FileExistsError):
        chronoxide.compact(block_path, tmp_path / "a.cx")
    assert (tmp_path / "a.cx").read_bytes() == before
    chronoxide.ingest(source, tmp_path / "a.cx", force=True)
    assert len(chronoxide.open(tmp_path / "a.cx")) == 20


def test_an_input_is_never_the_output(rows, tmp_path, block_path):
    source = capture(tmp_path / "rows.cx", rows)
    before = source.read_bytes()
    (tmp_path / "link.cx").symlink_to(source)
    for output in [source, tmp_path / "link.cx", tmp_path / ".." / tmp_path.name / "rows.cx"]:
        with pytest.raises(ValueError, match="input"):
            chronoxide.ingest(source, output, force=True)
    copy = tmp_path / "copy.cx"
    copy.write_bytes(block_path.read_bytes())
    with pytest.raises(ValueError, match="input"):
        chronoxide.compact(copy, copy, force=True, keep=["none"])
    assert source.read_bytes() == before and copy.read_bytes() == block_path.read_bytes()


def test_wrong_arguments_are_value_errors(rows, tmp_path, block_path):
    source, target = capture(tmp_path / "a.jsonl", rows), tmp_path / "a.cx"
    with pytest.raises(ValueError, match="layout"):
        chronoxide.ingest(source, target, layout="columns")
    with pytest.raises(ValueError, match="folder"):
        chronoxide.ingest(source, target, window=timedelta(hours=1))
    with pytest.raises(ValueError, match="longer than zero"):
        chronoxide.ingest(source, tmp_path / "x", window=timedelta(0))
    with pytest.raises(ValueError, match="at least 1"):
        chronoxide.compact(block_path, f"{tmp_path}/x/", max_series=0)
    with pytest.raises(ValueError, match="no blocks"):
        chronoxide.compact([], target)
    with pytest.raises(chronoxide.SelectorError):
        chronoxide.compact(block_path, target, keep=["{"])
    with pytest.raises(ValueError, match="no inputs"):
        chronoxide.ingest([], target)
    for wrong in [7, b"a.cx", [7], None]:
        with pytest.raises(TypeError, match="expected a path"):
            chronoxide.compact(wrong, target)
    with pytest.raises(FileNotFoundError):
        chronoxide.ingest(source, tmp_path / "none" / "a.cx")
    with pytest.raises(IsADirectoryError):
        chronoxide.ingest(tmp_path, target)
    assert not target.exists() and not (tmp_path / "x").exists()


def test_damaged_inputs_are_named(rows, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"a": "b"}\n{"a": \n{"a": "c"}\n', encoding="utf-8")
    with pytest.raises(chronoxide.IngestError, match=r"bad\.jsonl: record 2"):
        chronoxide.ingest(tmp_path / "bad.jsonl", tmp_path / "bad.cx")
    assert not (tmp_path / "bad.cx").exists()
    done = chronoxide.ingest(tmp_path / "bad.jsonl", tmp_path / "bad.cx", skip_bad_records=True)
    assert done["report"]["skipped"]["broken_records"] == 1 and len(chronoxide.open(tmp_path / "bad.cx")) == 2
    with pytest.raises(FileNotFoundError):
        chronoxide.ingest(tmp_path / "none.jsonl", tmp_path / "none.cx")
    broken = next(path for path in sorted(BROKEN.glob("*.cx")) if "row" in path.stem)
    with pytest.raises(chronoxide.ChronoxideError) as raised:
        chronoxide.compact([GOLDEN / "meta.cx", broken], tmp_path / "merged.cx")
    assert str(broken) in str(raised.value)
    assert not (tmp_path / "merged.cx").exists()


def test_a_full_disk_is_an_os_error(rows, tmp_path):
    source = capture(tmp_path / "a.jsonl", rows)
    program = f"""
        import resource, signal, chronoxide
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            chronoxide.ingest({str(source)!r}, {str(tmp_path / "a.cx")!r})
        except OSError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert "a.cx" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_ctrl_c_ends_a_run(tmp_path):
    # A pipe without a writer is waited for, until the signal.
    os.mkfifo(tmp_path / "pipe")
    program = f"""
        import chronoxide
        try:
            print("ready", flush=True)
            chronoxide.ingest({str(tmp_path / "pipe")!r}, {str(tmp_path / "a.cx")!r})
        except KeyboardInterrupt:
            print("interrupted")
    """
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert out == "interrupted\n" and run.returncode == 0
    assert not (tmp_path / "a.cx").exists()


def test_other_threads_run_meanwhile(tmp_path):
    # The run waits for the pipe, which this thread cannot write to unless the interpreter's lock is released.
    os.mkfifo(tmp_path / "pipe")
    done = []
    thread = threading.Thread(target=lambda: done.append(chronoxide.ingest(tmp_path / "pipe", tmp_path / "a.cx")))
    thread.start()
    (tmp_path / "pipe").write_text('{"a": "b"}\n', encoding="utf-8")
    thread.join()
    assert done[0]["report"]["series"] == 1
