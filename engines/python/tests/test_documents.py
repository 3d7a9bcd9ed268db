"""Examples of docstrings, of the README and of the documents, and the example programs."""

import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GOLDEN

import chronoxide

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "docs/columns.md", ROOT / "docs/engines.md", ROOT / "engines/python/README.md"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that examples use, in the current folder."""
    shutil.copy(GOLDEN / "plain-bitpacked.cx", tmp_path / "week.cx")
    shutil.copy(GOLDEN / "lists-fixedwidth.cx", tmp_path / "other.cx")
    (tmp_path / "blocks").mkdir()
    shutil.copy(GOLDEN / "plain-bitpacked.cx", tmp_path / "blocks")
    (tmp_path / "metrics.prom").write_text('up{job="a"} 1\nup{job="b"} 1\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def documented():
    """Returns every object with a docstring that has an example."""
    found = parsed("chronoxide", chronoxide)
    for name in chronoxide.__all__:
        thing = getattr(chronoxide, name)
        found += parsed(name, thing)
        for member in vars(thing) if isinstance(thing, type) else []:
            found += parsed(f"{name}.{member}", getattr(thing, member))
    return [test for test in found if test.examples]


def parsed(name, thing):
    text = getattr(thing, "__doc__", None)
    return [doctest.DocTestParser().get_doctest(text, {"chronoxide": chronoxide}, name, None, 0)] if text else []


@pytest.mark.parametrize("test", documented(), ids=lambda test: test.name)
def test_the_examples_of_docstrings_run(test, files):
    result = doctest.DocTestRunner().run(test)
    assert result.attempted > 0 and result.failed == 0


def test_there_are_examples():
    assert {"chronoxide", "open", "ingest", "compact", "Block.find", "Block.select"} <= {test.name for test in documented()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_documents_run(document, files, capsys):
    text = document.read_text(encoding="utf-8")
    examples = [part.split("\n```")[0] for part in text.split("```python\n")[1:]]
    assert examples
    for example in examples:
        exec(compile(example, str(document), "exec"), {})
        assert "api" in capsys.readouterr().out


def test_everything_public_is_described():
    for name in chronoxide.__all__:
        thing = getattr(chronoxide, name)
        assert thing.__doc__ or name in ("Layout", "Merge", "Strings", "ValueType"), name
        for member in vars(thing) if getattr(thing, "__module__", "") == "chronoxide" else []:
            assert member.startswith("_") or getattr(thing, member).__doc__, f"{name}.{member}"


def test_the_example_draws_the_largest_metrics(block_path, tmp_path):
    program = ROOT / "engines/python/examples/largest_metrics.py"
    done = subprocess.run([sys.executable, program, block_path, tmp_path / "largest.png"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "largest.png").read_bytes().startswith(b"\x89PNG")
    assert "queue_length" in done.stdout
