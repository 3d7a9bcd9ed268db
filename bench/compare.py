#!/usr/bin/env python3
"""How large the series of a file are as text, compressed text, Parquet and blocks, and how small their set could be.

    python3 compare.py captures/*.series.jsonl

README.md says what each measure is.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile

import bound
import sizes
from series import Damaged, Failed, read

PARTS = ("parquet", "zstd", "layouts", "bound")
ZSTD = {  # name, options, order
    "zstd_3": ("zstd -3", ["-3"], "input_order"),
    "zstd_19_long_sorted": ("zstd -19 --long=27, sorted", ["-19", "--long=27", "-T1"], "sorted_order")}
ORDERS = {"input": "input order", "sorted": "sorted", "keyset_major": "keyset-major"}
HERE = os.path.dirname(os.path.abspath(__file__))


def say(message):
    print(f"compare: {message}", file=sys.stderr)


class Comparison:
    """Of one file. What cannot be measured is said, and left empty."""

    def __init__(self, path, options):
        self.path, self.options = path, options
        self.failed = False
        self.series = read(path)
        keys = {key for keys in self.series.keysets for key in keys}
        self.result = {
            "file": path, "records": self.series.records, "series": len(self.series), "labels": self.series.labels,
            "keysets": len(self.series.keysets), "keys": len(keys), "text": self.size(self.series.text_len)}
        with tempfile.TemporaryDirectory(prefix="chronoxide-compare-") as folder:
            for part in options.only:
                getattr(self, part)(folder)

    def size(self, size, **more):
        return {"bytes": size, "bytes_per_series": size / len(self.series) if len(self.series) else None, **more}

    def attempt(self, what, measure, *arguments):
        """What is measured, or None."""
        try:
            return measure(*arguments)
        except Failed as failure:
            say(f"{self.path}: {what}: {failure}")
            self.failed = True
            return None

    def zstd(self, folder):
        for key, (name, level, order) in ZSTD.items():
            texts = (self.series.texts[number] for number in getattr(self.series, order))
            size = self.attempt(name, sizes.zstd, texts, level, folder)
            self.result[key] = None if size is None else self.size(size)

    def parquet(self, folder):
        version = self.attempt("Parquet", sizes.pyarrow_version)
        found = self.result["parquet"] = {"pyarrow": version, **dict.fromkeys(ORDERS), "best": None}
        if not version:
            return
        for order, name in ORDERS.items():
            rows = getattr(self.series, f"{order}_order")
            measured = self.attempt(f"Parquet, {name}", sizes.parquet, self.series, rows, folder)
            found[order] = measured and self.size(measured[0], footer_bytes=measured[1])
        measured = [order for order in ORDERS if found[order]]
        found["best"] = min(measured, key=lambda order: found[order]["bytes"], default=None)

    def layouts(self, folder):
        ingest = self.options.chronoxide_ingest
        layouts = self.options.layout or self.attempt("layouts", sizes.layouts, ingest)
        self.result["layouts"] = None if layouts is None else {}
        for layout in layouts or ():
            measured = self.attempt(f"layout {layout}", sizes.block, ingest, self.path, layout, self.series, folder)
            self.result["layouts"][layout] = measured and self.size(measured[0])
            if measured and measured[1]:
                say(f"{self.path}: layout {layout}: {measured[1]} names and values are longer than a block keeps, and were cut")

    def bound(self, _):
        bits = bound.set_entropy(keyset.columns for keyset in self.series.keysets.values())
        self.result["set_bound"] = self.size(bits / 8, bits=bits)

    def rows(self):
        """Names and sizes of the table for people."""
        result = self.result
        yield "text", result["text"]
        for key, (name, _, _) in ZSTD.items():
            if key in result:
                yield name, result[key]
        if "parquet" in result:
            parquet = result["parquet"]
            for order, name in ORDERS.items():
                yield f"Parquet, {name}", parquet[order]
            best = parquet["best"]
            yield f"Parquet, best ({ORDERS[best]})" if best else "Parquet, best", parquet.get(best)
        if "layouts" in result:
            if result["layouts"] is None:
                yield "blocks", None
            for layout, size in (result["layouts"] or {}).items():
                yield f"block, {layout}", size
        if "set_bound" in result:
            yield "set-entropy bound", result["set_bound"]

    def table(self):
        result = self.result
        labels = f"{result['labels'] / result['series']:.1f}" if result["series"] else "no"
        counts = f"{result['series']:,} series, {labels} labels each, {result['keysets']:,} keysets, {result['keys']:,} keys"
        lines = [self.path, counts]
        rows = [("", "bytes", "per series")]
        for name, size in self.rows():
            per_series = size and size["bytes_per_series"]
            rows.append((name, f"{size['bytes']:,.0f}" if size else "", "" if per_series is None else f"{per_series:,.2f}"))
        widths = [max(map(len, column)) for column in zip(*rows)]
        for name, size, per_series in rows:
            lines.append(f"  {name:<{widths[0]}}  {size:>{widths[1]}}  {per_series:>{widths[2]}}".rstrip())
        return "\n".join(lines) + "\n"


def parts(text):
    wanted = text.split(",")
    for part in wanted:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"{part!r} is none of {', '.join(PARTS)}")
    return [part for part in PARTS if part in wanted]


def default_ingest():
    built = os.path.join(HERE, "..", "target", "release", "chronoxide-ingest")
    return shutil.which(built) or "chronoxide-ingest"


def arguments_of(arguments):
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__.splitlines()[0], epilog=(
        "Exit codes: 0 done; 1 something could not be read or measured; 2 usage; 3 a line is broken."))
    parser.add_argument("files", nargs="+", metavar="FILE", help="one JSON object of labels a line; plain, zstd or gzip")
    parser.add_argument("--json", action="store_true", help="print one object per file and line")
    parser.add_argument("--chronoxide-ingest", metavar="PATH", default=None,
                        help="the command; by default this project's release build, or else the one in PATH")
    parser.add_argument("--layout", metavar="NAME", action="append",
                        help="a layout of blocks, may be repeated; by default those that the command's help lists")
    parser.add_argument("--only", metavar="PARTS", type=parts, default=list(PARTS), help=f"of {','.join(PARTS)}")
    options = parser.parse_args(arguments)
    if "layouts" not in options.only and (options.layout or options.chronoxide_ingest):
        parser.error("--layout and --chronoxide-ingest are for the part layouts")
    options.layout = list(dict.fromkeys(options.layout or ()))
    options.chronoxide_ingest = options.chronoxide_ingest or default_ingest()
    return options


def main(arguments):
    options = arguments_of(arguments)
    codes = {0}
    for path in options.files:
        try:
            comparison = Comparison(path, options)
        except Damaged as damage:
            say(damage)
            codes.add(3)
        except Failed as failure:
            say(failure)
            codes.add(1)
        except OSError as error:
            say(f"{path}: {error.strerror or error}")
            codes.add(1)
        else:
            print(json.dumps(comparison.result) if options.json else comparison.table(), flush=True)
            codes.add(int(comparison.failed))
    return max(codes)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        # The reader has closed the pipe; output that Python would flush at exit must go elsewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
