"""What others, and we, make of the series: each function gives the bytes of a whole file, or raises `Failed`."""

import json
import os
import re
import subprocess
from array import array

from series import Failed

NULL = (1 << 32) - 1

# Once a column's dictionary is larger than pyarrow's limit, the rest of the column is in plain pages. That is smaller where
# values hardly repeat, and larger where they do. So Parquet is written with the default limit and with one that is hardly
# reached, and the smaller file counts.
DICTIONARY_LIMITS = (1 << 20, 1 << 30)


def run(arguments):
    """Exit code and output of a command; its messages become ours only when it fails."""
    # These change what the zstd command does, and colour a help that is to be read.
    left_out = ("ZSTD_CLEVEL", "ZSTD_NBTHREADS", "CLICOLOR_FORCE")
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    try:
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
    except OSError as error:
        raise Failed(f"{arguments[0]} cannot be started: {error.strerror}") from error
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace").strip()


def zstd(texts, level, folder):
    """The text of the series in the order given, as the zstd command compresses a file of it."""
    text, compressed = os.path.join(folder, "text"), os.path.join(folder, "text.zst")
    try:
        with open(text, "wb") as file:
            for line in texts:
                file.write(line + b"\n")
        code, _, message = run(["zstd", "-q", "-f", *level, "-o", compressed, text])
        if code:
            raise Failed(f"zstd ended with {code}: {message}")
        return os.path.getsize(compressed)
    except OSError as error:
        raise Failed(f"{error.filename or folder}: {error.strerror}") from error
    finally:
        for path in (text, compressed):
            if os.path.exists(path):
                os.remove(path)


def column_codes(series, order):
    """The keys in order, each with its code, or NULL, in each row of the order."""
    position = array("I", bytes(4 * len(order)))
    for place, number in enumerate(order):
        position[number] = place
    parts = {}
    for keyset in series.keysets.values():
        for key, column in zip(keyset.keys, keyset.columns):
            parts.setdefault(key, []).append((keyset.rows, column))
    for key in sorted(parts):
        codes = array("I", b"\xff" * (4 * len(order)))
        for rows, column in parts[key]:
            for row, code in zip(rows, column):
                codes[position[row]] = code
        yield key, codes


def parquet_table(series, order):
    """A column of strings for each key."""
    import pyarrow
    import pyarrow.compute

    values = pyarrow.array(series.values, pyarrow.large_string())
    missing = pyarrow.scalar(NULL, pyarrow.uint32())
    columns = {}
    for key, codes in column_codes(series, order):
        codes = pyarrow.Array.from_buffers(pyarrow.uint32(), len(order), [None, pyarrow.py_buffer(codes)])
        codes = pyarrow.compute.if_else(pyarrow.compute.equal(codes, missing), None, codes)
        columns[key] = values.take(codes).cast(pyarrow.string())
    return pyarrow.table(columns)


def pyarrow_version():
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise Failed(f"pyarrow cannot be imported: {error}") from error
    return pyarrow.__version__


def write_parquet(table, path, dictionary_limit):
    """One row group, whatever its size; what is not said here is pyarrow's default."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        table, path, row_group_size=max(len(table), 1), compression="zstd", compression_level=3, use_dictionary=True,
        dictionary_pagesize_limit=dictionary_limit)


def parquet(series, order, folder):
    """Bytes of the file, and of its footer among them."""
    import pyarrow.parquet

    path = os.path.join(folder, "series.parquet")
    sizes = []
    try:
        table = parquet_table(series, order)
        for limit in DICTIONARY_LIMITS:
            write_parquet(table, path, limit)
            sizes.append((os.path.getsize(path), pyarrow.parquet.read_metadata(path).serialized_size))
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        raise Failed(f"pyarrow: {error}") from error
    finally:
        if os.path.exists(path):
            os.remove(path)
    return min(sizes)


def layouts_of_help(text):
    """The values of `--layout` that the help of chronoxide-ingest lists."""
    # An option's part of the help ends where the next one's begins.
    part = re.search(r"^ *--layout\b.*?(?=^ *(?:-\w, )?--\w|^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if not part:
        return []
    short = re.search(r"\[possible values: ([^\]]*)\]", part[0])
    return re.split(r",\s*", short[1].strip()) if short else re.findall(r"^ *- ([\w.-]+)", part[0], re.MULTILINE)


def layouts(ingest):
    """The layouts that chronoxide-ingest knows."""
    code, text, message = run([ingest, "--help"])
    if code:
        raise Failed(f"{ingest} --help ended with {code}: {message}")
    found = layouts_of_help(text)
    if not found:
        raise Failed(f"{ingest} --help lists no layouts")
    return found


def block(ingest, path, layout, series, folder):
    """Bytes of the block, and how many names and values were cut."""
    output = os.path.join(folder, "block.cx")
    try:
        code, report, message = run([ingest, path, "-o", output, "--format", "series-json", "--layout", layout, "--json"])
        # 6: done, but something was left out, such as series without labels. Whether that matters shows in the count.
        if code not in (0, 6):
            raise Failed(f"{ingest} ended with {code}: {message}")
        report = json.loads(report)
        if report["series"] != len(series):
            raise Failed(f"the block has {report['series']} series, the file {len(series)}")
        return os.path.getsize(output), report["input"]["names_cut"] + report["input"]["values_cut"]
    except OSError as error:
        raise Failed(f"{error.filename}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"{ingest} gave an unknown report: {error!r}") from error
    finally:
        if os.path.exists(output):
            os.remove(output)
