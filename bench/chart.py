"""Draws the bytes per series in each layout, by section, from what the bench `layouts` writes: see README.md."""

import argparse
import json
import sys

# What is drawn of a block: the sections of each part, the bottom first, and a colour that the colour-blind can tell from the others.
PARTS = (
    ("arena: the strings", ("arena",), "#0072B2"),
    ("symbols: where they start", ("symbols",), "#56B4E9"),
    ("rows of tables", ("rows",), "#E69F00"),
    ("members of lists", ("members",), "#F0E442"),
    ("catalogue: tables, keysets, keys", ("catalogue",), "#009E73"),
    ("header, directory, meta, checks", ("frame", "meta", "checks", "metric-metadata"), "#CC79A7"),
)
OTHER_COLOUR = "#999999"


class Broken(Exception):
    """The sizes are not such as the bench writes."""


def parts(sizes, series):
    """Bytes per series of each part of a block. Every section is in one part, and the parts are the whole block."""
    sections = dict(sizes["sections"])
    sums = [sum(sections.pop(name, 0) for name in names) for _, names, _ in PARTS]
    if sections:
        raise Broken(f"no part has these sections: {', '.join(sections)}")
    if sum(sums) != sizes["bytes"]:
        raise Broken(f"{sizes['layout']}: the sections have {sum(sums)} bytes, and the block {sizes['bytes']}")
    return [bytes_ / series for bytes_ in sums]


def bars(sets, others, chosen):
    """For each set its title and its bars: a name and the lengths of the parts. The bar of something else has one length, and no parts."""
    by_name = {sizes["set"]: sizes for sizes in sets}
    missing = [name for name in chosen if name not in by_name]
    if missing:
        raise Broken(f"there are no sizes of {', '.join(missing)}")
    groups = []
    for name in chosen:
        sizes = by_name[name]
        series = sizes["series"]
        title = f"{name}\n{series:,} series of {sizes['labels'] / series:.1f} labels"
        rows = [(layout["layout"], parts(layout, series)) for layout in sizes["layouts"]]
        rows += [(other, [figures[name]]) for other, figures in others.items() if name in figures]
        groups.append((title, rows))
    return groups


def draw(groups, path):
    """One panel per set, one below the other, all to one scale."""
    import matplotlib

    matplotlib.use("svg")
    # The same figures give the same file; text stays text.
    matplotlib.rcParams.update({"svg.hashsalt": "chronoxide", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    heights = [len(rows) for _, rows in groups]
    figure, panels = pyplot.subplots(
        len(groups), 1, sharex=True, squeeze=False, height_ratios=heights, figsize=(10, 1.9 + 0.36 * sum(heights)), layout="constrained"
    )
    longest = max(sum(lengths) for _, rows in groups for _, lengths in rows)
    for panel, (title, rows) in zip(panels[:, 0], groups):
        for place, (_, lengths) in enumerate(rows):
            colours = [colour for *_, colour in PARTS] if len(lengths) > 1 else [OTHER_COLOUR]
            start = 0
            for length, colour in zip(lengths, colours):
                panel.barh(place, length, left=start, color=colour, height=0.75)
                start += length
            panel.text(start + longest * 0.006, place, f"{start:.2f}", va="center", fontsize=9)
        panel.set_yticks(range(len(rows)), [name for name, _ in rows])
        panel.invert_yaxis()
        panel.set_title(title.replace("\n", ": "), loc="left", fontsize=10, fontweight="bold")
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x", color="#dddddd")
        panel.set_axisbelow(True)
        panel.spines[["top", "right", "left"]].set_visible(False)
    panels[-1, 0].set_xlabel("bytes per series, whole files")
    panels[0, 0].set_xlim(0, longest * 1.06)
    figure.suptitle("Bytes per series by layout and section", fontsize=13, fontweight="bold")
    legend = [Patch(color=colour, label=label) for label, _, colour in PARTS]
    if any(len(lengths) == 1 for _, rows in groups for _, lengths in rows):
        legend.append(Patch(color=OTHER_COLOUR, label="another format, as a whole"))
    figure.legend(handles=legend, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    # A page of any background shows it on white.
    metadata = {"Date": None} if path.endswith(".svg") else None
    figure.savefig(path, metadata=metadata, facecolor="white", dpi=100)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", help="what the bench wrote: target/layouts.json")
    parser.add_argument("--others", help="a JSON object: bytes per series by set, by name of what is beside the layouts")
    parser.add_argument("--set", action="append", help="a set to draw, may be repeated; by default those in --others, or all")
    parser.add_argument("-o", "--output", required=True, help="the chart, as SVG")
    options = parser.parse_args(arguments)
    try:
        with open(options.sizes, encoding="utf-8") as file:
            sets = json.load(file)
        others = {}
        if options.others:
            with open(options.others, encoding="utf-8") as file:
                others = json.load(file)
        named = {name for figures in others.values() for name in figures}
        chosen = options.set or [sizes["set"] for sizes in sets if not named or sizes["set"] in named]
        draw(bars(sets, others, chosen), options.output)
    except (OSError, ValueError, Broken) as error:
        print(f"chart.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
