"""Draws the comparison of stores from criterion's estimates, and memory over time from CSV files: see docs/stores.md."""

import argparse
import csv
import json
import os
import sys

# Colours that the colour-blind can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


class Broken(Exception):
    """The files do not have the expected figures."""


def estimates(folder):
    """Returns nanoseconds per element by group and name, from a folder such as target/criterion."""
    found = {}
    for place, _, files in os.walk(folder):
        if os.path.basename(place) != "new" or "estimates.json" not in files:
            continue
        with open(os.path.join(place, "benchmark.json"), encoding="utf-8") as file:
            benchmark = json.load(file)
        with open(os.path.join(place, "estimates.json"), encoding="utf-8") as file:
            median = json.load(file)["median"]["point_estimate"]
        name = "/".join(part for part in (benchmark["function_id"], benchmark["value_str"]) if part)
        elements = (benchmark["throughput"] or {}).get("Elements", 1)
        found.setdefault(benchmark["group_id"], {})[name] = median / elements
    return found


def ratios(figures, baseline):
    """Returns each figure divided by that of the baseline."""
    if baseline not in figures:
        raise Broken(f"there is no figure of {baseline}: {', '.join(sorted(figures))}")
    return {name: figure / figures[baseline] for name, figure in figures.items()}


def markdown(group, figures):
    """Returns a Markdown table of nanoseconds per element, and ratios to the least, the least first."""
    least = min(figures.values())
    rows = [f"| {name} | {figure:.1f} | {figure / least:.2f} |" for name, figure in sorted(figures.items(), key=lambda row: row[1])]
    return "\n".join([f"| {group} | ns per element | ratio |", "| --- | ---: | ---: |", *rows, ""])


def panels(ours, articles):
    """Returns for each group of the articles that was measured: title, and rows of name, our ratio, the article's ratio or None."""
    result = []
    for group, entry in articles.items():
        if group not in ours:
            continue
        baseline = entry["baseline"]
        mine, theirs = ratios(ours[group], baseline), ratios(entry["figures"], baseline)
        # Groups of more than 10 figures show only those that the article has.
        names = [name for name in sorted(mine, key=mine.get) if name in theirs or len(mine) <= 10]
        result.append((f"{group}, ratio to {baseline}", [(name, mine[name], theirs.get(name)) for name in names]))
    if not result:
        raise Broken("no group of the articles was measured")
    return result


def runs(paths):
    """Returns for each CSV file its name, and the columns as numbers."""
    result = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise Broken(f"{path}: no samples")
        name = os.path.splitext(os.path.basename(path))[0]
        result.append((name, {column: [float(row[column]) for row in rows] for column in rows[0]}))
    return result


def new_figure(*arguments, **options):
    """Returns pyplot and a figure with panels. Equal figures give equal files, and text stays text."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "chronoxide", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    return pyplot.subplots(*arguments, squeeze=False, layout="constrained", **options)


def save(figure, path):
    """Writes a figure on white, without a date."""
    metadata = {"Date": None} if path.endswith(".svg") else None
    figure.savefig(path, metadata=metadata, facecolor="white", dpi=100)


def draw_ratios(groups, path):
    """Draws one panel per group: our ratios beside the article's."""
    heights = [len(rows) for _, rows in groups]
    figure, axes = new_figure(len(groups), 1, height_ratios=heights, figsize=(10, 1 + 0.45 * sum(heights) + 0.5 * len(groups)))
    for panel, (title, rows) in zip(axes[:, 0], groups):
        for place, (_, mine, theirs) in enumerate(rows):
            panel.barh(place - 0.2, mine, height=0.36, color=COLOURS[0], label="here" if place == 0 else None)
            panel.text(mine, place - 0.2, f" {mine:.2f}", va="center", fontsize=8)
            if theirs is not None:
                panel.barh(place + 0.2, theirs, height=0.36, color=COLOURS[1])
                panel.text(theirs, place + 0.2, f" {theirs:.2f}", va="center", fontsize=8)
        panel.set_yticks(range(len(rows)), [name for name, _, _ in rows])
        panel.invert_yaxis()
        panel.axvline(1, color="#555555", linewidth=0.8)
        panel.set_title(title, loc="left", fontsize=10, fontweight="bold")
        panel.spines[["top", "right", "left"]].set_visible(False)
    from matplotlib.patches import Patch

    legend = [Patch(color=COLOURS[0], label="here"), Patch(color=COLOURS[1], label="article")]
    figure.legend(handles=legend, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    save(figure, path)


def draw_runs(all_runs, path):
    """Draws resident memory, and time per data point, over the data points."""
    figure, axes = new_figure(2, 1, sharex=True, figsize=(10, 7))
    for colour, (name, columns) in zip(COLOURS, all_runs):
        points = [value / 1e6 for value in columns["points"]]
        axes[0, 0].plot(points, [value / 2**20 for value in columns["resident_bytes"]], color=colour, label=name)
        axes[1, 0].plot(points, columns["ns_per_point"], color=colour, label=name)
    axes[0, 0].set_ylabel("resident memory, MiB")
    axes[1, 0].set_ylabel("store, ns per data point")
    axes[1, 0].set_xlabel("data points, millions")
    for panel in axes[:, 0]:
        panel.set_yscale("log")
        panel.grid(color="#dddddd")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False)
    save(figure, path)


def main(arguments):
    """Runs the command. Returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("ratios", help="our ratios beside the articles'")
    compare.add_argument("criterion", help="criterion's folder: target/criterion")
    compare.add_argument("articles", help="the articles' figures: bench/articles.json")
    compare.add_argument("-o", "--output", required=True, help="the chart, as SVG")
    tables = commands.add_parser("tables", help="all figures as Markdown tables")
    tables.add_argument("criterion", help="criterion's folder: target/criterion")
    memory = commands.add_parser("memory", help="memory over time of runs of the example ingest_memory")
    memory.add_argument("runs", nargs="+", help="CSV files, named for their store")
    memory.add_argument("-o", "--output", required=True, help="the chart, as SVG")
    options = parser.parse_args(arguments)
    try:
        if options.command == "ratios":
            with open(options.articles, encoding="utf-8") as file:
                articles = json.load(file)
            groups = panels(estimates(options.criterion), articles)
            draw_ratios(groups, options.output)
        elif options.command == "tables":
            for group, figures in sorted(estimates(options.criterion).items()):
                print(markdown(group, figures))
        else:
            draw_runs(runs(options.runs), options.output)
    except (OSError, ValueError, KeyError, Broken) as error:
        print(f"stores.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
