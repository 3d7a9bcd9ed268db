"""Draws the ten metrics with the most series, and the label of each with the most values.

Usage: python largest_metrics.py BLOCK_OR_FOLDER [largest.png]

The parts between `# %%` lines are cells for editors that run them one by one.
"""

# %% The metrics with the most series
import sys

import matplotlib

import chronoxide

matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

path = sys.argv[1]
image = sys.argv[2] if len(sys.argv) > 2 else "largest.png"
blocks = chronoxide.open(path)
counts = blocks.cardinality(limit=10)
metrics = [entry["metric"] for entry in counts["metrics_by_series"]]
series = [entry["series"] for entry in counts["metrics_by_series"]]
print(blocks)
for metric, count in zip(metrics, series):
    print(f"{count:>12,}  {metric}")

# %% The label of each with the most values
labels = []
for metric in metrics:
    matcher = '{__name__="' + metric.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"}'
    names = blocks.cardinality(matcher, limit=1)["names_by_values"]
    labels.append(f"{names[0]['name']}: {names[0]['values']:,} values" if names else "")

# %% The chart
figure, axes = pyplot.subplots(figsize=(9, 4.5), layout="constrained")
bars = axes.barh(metrics[::-1], series[::-1])
axes.bar_label(bars, labels=labels[::-1], padding=4, fontsize=8)
axes.set_xlabel(f"series, of {counts['series']:,}")
axes.margins(x=0.3)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(image, dpi=150)
