// Table of labels: of all series, or of the selected metric.
(function (page) {
  "use strict";

  const { element, exact, counted, shareOf, selection, Table } = page;

  const LOOKS = new Map([
    ["uuid", "UUIDs"], ["hash", "hashes"], ["number", "numbers"], ["time", "times"], ["address", "addresses"],
    ["pod", "pod names"], ["token", "random tokens"],
  ]);

  const nameColumn = {
    id: "name", title: "Label", wide: true, value: (row) => row.name, cell: (row) => page.name(row.name),
  };
  const looksColumn = {
    id: "looks", title: "Looks like", value: (row) => row.looks,
    cell: (row) => (row.looks === null ? null
      : element("span", { class: "badge" }, LOOKS.get(row.looks) ?? page.visible(row.looks))),
  };

  const MAX_EXAMPLES = 2;
  const exampleText = (item) => `${page.plain(item.value)}: ${counted(item.series, "series", "series")}`;

  // Lists the first values. The others are in a title, which keeps the rows low.
  function examples(top) {
    const shown = top.slice(0, MAX_EXAMPLES).map((item) =>
      element("li", { title: exampleText(item) }, page.example(item.value)));
    const others = top.slice(MAX_EXAMPLES);
    if (others.length > 0) {
      shown.push(element("li", { class: "placeholder", title: others.map(exampleText).join("\n") },
        `${others.length} more`));
    }
    return element("ul", { class: "examples" }, shown);
  }

  const examplesColumn = {
    id: "top", title: "Values with most series", sortable: false, wide: true,
    value: (row) => row.top.map((item) => `${item.value} ${item.series}`).join("; "),
    cell: (row) => examples(row.top),
  };

  function remains(row, total) {
    if (row.remains === null) {
      return page.unknown("not computed");
    }
    const removed = shareOf(total - row.remains, total);
    return element("span", { class: "remains" }, exact(row.remains),
      element("span", { class: "removed" }, removed === 0 ? "no change" : page.minus(removed)),
      page.bar(shareOf(row.remains, total), "remaining"));
  }

  function allColumns(total) {
    return [
      nameColumn,
      // Beside the name: on a narrow screen the other columns are reached by scrolling.
      {
        id: "remains", title: "Series without it", numeric: true, value: (row) => row.remains,
        cell: (row) => remains(row, total),
      },
      page.queriesColumn,
      { id: "values", title: "Distinct values", numeric: true, value: (row) => row.values },
      page.sizeColumn("value_bytes", "Bytes of values", (row) => row.value_bytes),
      { id: "series", title: "Series with it", numeric: true, value: (row) => row.series },
      looksColumn,
      examplesColumn,
    ];
  }

  const metricColumns = [
    nameColumn,
    { id: "values", title: "Values in this metric", numeric: true, value: (row) => row.values },
    {
      id: "all", title: "Values in all metrics", numeric: true, value: (row) => row.all,
      cell: (row) => (row.all === null ? page.unknown("not listed") : exact(row.all)),
    },
    looksColumn,
    examplesColumn,
  ];

  // Joins the labels of a metric with what is known about them in all series. The largest label of a metric has its
  // own examples.
  function metricRows(metric, byName) {
    return metric.labels.map((label, index) => {
      const all = byName.get(label.name);
      const top = index === 0 ? metric.values.slice(0, 5) : all?.top ?? [];
      return { name: label.name, values: label.values, all: all?.values ?? null, looks: all?.looks ?? null, top };
    });
  }

  function words(row) {
    const looks = row.looks === null ? "" : LOOKS.get(row.looks) ?? row.looks;
    return [row.name, looks, ...row.top.map((item) => item.value)].join("\n");
  }

  // Creates the section.
  function labels(report) {
    if (report.labels.length === 0) {
      return null;
    }
    const byName = new Map(report.labels.map((label) => [label.name, label]));
    const whole = {
      caption: "Labels by number of distinct values", rows: report.labels, columns: allColumns(report.totals.series),
    };
    const table = new Table({ id: "labels-table", noun: "label", words, ...whole });
    const lead = element("p", { class: "lead" });
    const rest = element("p", { class: "note" });

    function show(selected) {
      const metric = report.metrics.find((other) => other.metric === selected);
      if (selected === undefined || !metric) {
        table.replace(whole);
        lead.textContent = "“Series without it” is the number of series that remain if the label is dropped, and the "
          + "bar is their part of all series. "
          + "A label with many values costs bytes; a label that makes many series costs memory in every store.";
        rest.hidden = report.other_labels.labels === 0;
        rest.textContent = `${counted(report.other_labels.labels, "more label")} with `
          + `${counted(report.other_labels.values, "value")} in total.`;
        return;
      }
      table.replace({
        caption: ["Labels of metric ", page.metric(metric.metric)], rows: metricRows(metric, byName),
        columns: metricColumns,
      });
      lead.textContent = "Labels of the selected metric, at most eight, with the most values first. Examples come from "
        + "all metrics, except those of the first label.";
      rest.hidden = true;
    }

    selection.subscribe(show);
    show(selection.metric);
    return page.section("labels", "Labels", lead, table.node, rest);
  }

  Object.assign(page, { labels, LOOKS });
})((globalThis.chronoxide ??= {}));
