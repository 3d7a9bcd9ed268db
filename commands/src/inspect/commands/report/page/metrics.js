// Table of metrics, and the link from a metric's name to its selection.
(function (page) {
  "use strict";

  const { element, button, counted, exact, selection, Table } = page;

  // Creates the name of a metric as a button that selects it. Metrics outside the list cannot be selected.
  function metricLink(metric) {
    if (!selection.isSelectable(metric)) {
      return page.metric(metric);
    }
    return button({ class: "link", "data-metric": true, "aria-pressed": String(selection.metric === metric) }, () => {
      if (selection.metric === metric) {
        selection.clear();
      } else {
        selection.select(metric);
      }
    }, page.metric(metric));
  }

  // Marks the row of the selected metric.
  function markSelected(node, row) {
    const selected = selection.metric !== undefined && selection.metric === row.metric;
    node.classList.toggle("selected", selected);
    const link = node.querySelector("[data-metric]");
    if (link) {
      link.setAttribute("aria-pressed", String(selected));
    }
  }

  function nameCell(row) {
    return [metricLink(row.metric), row.help ? page.help(row.help) : null];
  }

  function largestLabel(row) {
    if (row.labels.length === 0) {
      return element("span", { class: "placeholder" }, "no labels");
    }
    return [page.name(row.labels[0].name), element("span", { class: "detail" },
      counted(row.labels[0].values, "value"))];
  }

  const optional = (text) => (text === null ? null : page.value(text));

  function columns(total) {
    return [
      { id: "metric", title: "Metric", wide: true, value: (row) => row.metric, cell: nameCell },
      { id: "series", title: "Series", numeric: true, value: (row) => row.series },
      page.shareColumn("Share", (row) => row.series, total),
      page.queriesColumn,
      { id: "type", title: "Type", value: (row) => row.type, cell: (row) => optional(row.type) },
      { id: "unit", title: "Unit", value: (row) => row.unit, cell: (row) => optional(row.unit) },
      page.sizeColumn("text_bytes", "Bytes of text", (row) => row.text_bytes),
      {
        id: "label", title: "Label with most values", numeric: true, cell: largestLabel,
        value: (row) => (row.labels.length === 0 ? 0 : row.labels[0].values),
      },
    ];
  }

  const words = (row) => [row.metric ?? "(no name)", row.type ?? "", row.unit ?? "", row.help ?? "",
    ...row.labels.slice(0, 1).map((label) => label.name)].join("\n");

  // Creates the section.
  function metrics(report) {
    if (report.metrics.length === 0) {
      return null;
    }
    const table = new Table({
      id: "metrics-table", caption: "Metrics by number of series", noun: "metric", rows: report.metrics,
      columns: columns(report.totals.series), words, mark: markSelected,
    });
    selection.subscribe(() => table.refresh());
    const other = report.other_metrics;
    const rest = other.metrics === 0 ? null : element("p", { class: "note" },
      `${counted(other.metrics, "more metric")} with ${exact(other.series)} series and `, page.size(other.text_bytes),
      " of text.");
    return page.section("metrics", "Metrics", element("p", { class: "lead" },
      "Select a metric to see only its labels and values."), table.node, rest);
  }

  Object.assign(page, { metrics, metricLink, markSelected });
})((globalThis.chronoxide ??= {}));
