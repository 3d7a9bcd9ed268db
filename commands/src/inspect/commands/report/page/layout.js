// Layout of the treemap: from metrics to rectangles.
(function (page) {
  "use strict";

  // More metrics than these would be too small to see; they join the rectangle of the other metrics.
  const MAX_METRICS = 200;
  const HEADER = 22;
  const MIN_WIDTH_FOR_HEADER = 44;
  const MIN_HEIGHT_FOR_HEADER = 34;
  // Upper limits of the shades, in distinct values of a metric's largest label.
  const SHADES = [10, 100, 1000, 10000];

  function shade(metric) {
    const values = metric.labels.length > 0 ? metric.labels[0].values : 1;
    const found = SHADES.findIndex((limit) => values <= limit);
    return found === -1 ? SHADES.length : found;
  }

  // Splits a metric by the values of its largest label.
  function valueCells(metric) {
    if (metric.labels.length === 0) {
      return [];
    }
    const cells = metric.values.map((item) => ({ kind: "value", value: item.value, series: item.series }));
    if (metric.other_series > 0) {
      cells.push({ kind: "rest", values: metric.other_values, series: metric.other_series });
    }
    if (metric.without > 0) {
      cells.push({ kind: "without", series: metric.without });
    }
    return cells;
  }

  function metricCell(metric) {
    return { kind: "metric", metric, series: metric.series, shade: shade(metric), children: valueCells(metric) };
  }

  // Returns the cells of all metrics, and of the metrics that are not listed.
  function metricCells(report) {
    const cells = report.metrics.filter((metric) => metric.series > 0).slice(0, MAX_METRICS).map(metricCell);
    const rest = report.metrics.slice(MAX_METRICS);
    const series = rest.reduce((sum, metric) => sum + metric.series, report.other_metrics.series);
    if (series > 0) {
      cells.push({ kind: "others", metrics: report.other_metrics.metrics + rest.length, series, shade: 0 });
    }
    return cells;
  }

  const hasHeader = (node) => node.depth === 1 && node.data.kind === "metric"
    && node.x1 - node.x0 >= MIN_WIDTH_FOR_HEADER && node.y1 - node.y0 >= MIN_HEIGHT_FOR_HEADER;

  // Lays out cells in `width` by `height` pixels. Returns the hierarchy of d3, whose root has all cells as children.
  function layOut(cells, width, height) {
    const root = d3.hierarchy({ children: cells }, (cell) => cell.children);
    // Only cells without parts have a size of their own; a metric's parts add up to the metric.
    root.sum((cell) => (cell.children && cell.children.length > 0 ? 0 : cell.series));
    return d3.treemap()
      .tile(d3.treemapSquarify.ratio(1.3))
      .size([width, height])
      .paddingInner((node) => (node.depth === 0 && node.height > 1 ? 3 : 1))
      .paddingTop((node) => (hasHeader(node) ? HEADER : 0))(root);
  }

  // Places an element in percent of the whole, so that it follows the width of a printed page.
  function place(element, node, area) {
    const width = area.x1 - area.x0;
    const height = area.y1 - area.y0;
    element.style.left = `${((node.x0 - area.x0) / width) * 100}%`;
    element.style.top = `${((node.y0 - area.y0) / height) * 100}%`;
    element.style.width = `${((node.x1 - node.x0) / width) * 100}%`;
    element.style.height = `${((node.y1 - node.y0) / height) * 100}%`;
  }

  // Returns the node that is nearest to `from` in the direction of an arrow key, or `from` at the edge.
  function neighbour(nodes, from, key) {
    const horizontal = key === "ArrowLeft" || key === "ArrowRight";
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const center = (node) => [(node.x0 + node.x1) / 2, (node.y0 + node.y1) / 2];
    const [fromX, fromY] = center(from);
    let best = from;
    let least = Infinity;
    for (const node of nodes) {
      const [x, y] = center(node);
      const along = (horizontal ? x - fromX : y - fromY) * sign;
      const across = Math.abs(horizontal ? y - fromY : x - fromX);
      // Leaving the row or column costs double, so that arrows follow it where possible.
      if (node !== from && along > 0.5 && along + 2 * across < least) {
        best = node;
        least = along + 2 * across;
      }
    }
    return best;
  }

  page.layout = { metricCells, metricCell, valueCells, layOut, place, neighbour, hasHeader, SHADES };
})((globalThis.chronoxide ??= {}));
