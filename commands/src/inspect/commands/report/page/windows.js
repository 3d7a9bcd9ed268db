// Sections of time and of a folder of blocks: slots of time, windows, growth and blocks.
(function (page) {
  "use strict";

  const { element, Table } = page;

  // Creates the table of series over time; `more` are columns between the times and the series.
  function timeTable(id, caption, noun, rows, more) {
    return new Table({
      id, caption, noun, rows,
      words: (row) => `${row.start} ${row.end}`,
      columns: [
        { id: "start", title: "Start", value: (row) => row.start, cell: (row) => page.time(row.start) },
        { id: "end", title: "End", value: (row) => row.end, cell: (row) => page.time(row.end) },
        ...more,
        { id: "series", title: "Series", numeric: true, value: (row) => row.series },
        { id: "new", title: "New", numeric: true, value: (row) => row.new },
        { id: "gone", title: "Gone", numeric: true, value: (row) => row.gone },
      ],
    }).node;
  }

  function windowTable(report) {
    return timeTable("windows-table", "Windows in order of time", "window", report.windows, [
      { id: "blocks", title: "Blocks", numeric: true, value: (row) => row.blocks },
      page.sizeColumn("bytes", "Bytes", (row) => row.bytes),
    ]);
  }

  function slotTable(slots) {
    return timeTable("times-table", "Slots in order of time", "slot", slots, []);
  }

  // Creates the section with the series that had data in each slot of time.
  function times(report) {
    if (report.series_times === null || report.series_times.slots.length === 0) {
      return null;
    }
    const { slots, unknown } = report.series_times;
    const lead = element("p", { class: "lead" },
      "Series from their first to their last data. New series had their first data in the slot; gone series had their ",
      "last in the slot before.", unknown > 0 ? ` The times of ${page.exact(unknown)} series are unknown.` : "");
    return page.section("times", "Series by their data", lead, page.chart(slots, "slot"), slotTable(slots));
  }

  // Creates the section with the label pairs and labels whose series come and go.
  function churn(report) {
    if (report.churn === null || report.churn.new + report.churn.gone === 0) {
      return null;
    }
    const { pairs, labels, hours } = report.churn;
    const pairTable = pairs.length === 0 ? null : new Table({
      id: "pairs-table", caption: "Label pairs whose series come and go", noun: "pair", rows: pairs,
      words: (row) => `${row.name}=${row.value}`,
      columns: [
        {
          id: "pair", title: "Label pair", wide: true, value: (row) => `${row.name}=${row.value}`,
          cell: (row) => [page.value(row.value), element("span", { class: "detail" }, page.name(row.name))],
        },
        { id: "new", title: "Came", numeric: true, value: (row) => row.new },
        { id: "gone", title: "Went", numeric: true, value: (row) => row.gone },
        {
          id: "per_hour", title: "Per hour", numeric: true, value: (row) => row.changes_per_hour,
          cell: (row) => page.fraction(row.changes_per_hour),
        },
        { id: "series", title: "Series", numeric: true, value: (row) => row.series },
      ],
    }).node;
    const each = (row) => (row.new_values > 0 ? row.series_of_new_values / row.new_values : null);
    const labelTable = labels.length === 0 ? null : new Table({
      id: "label-churn-table", caption: "Labels whose values come and go", noun: "label", rows: labels,
      words: (row) => row.name,
      columns: [
        { id: "name", title: "Label", wide: true, value: (row) => row.name, cell: (row) => page.name(row.name) },
        { id: "new_values", title: "Values that came", numeric: true, value: (row) => row.new_values },
        { id: "gone_values", title: "Values that went", numeric: true, value: (row) => row.gone_values },
        {
          id: "each", title: "Series of each that came", numeric: true, value: each,
          cell: (row) => (each(row) === null ? page.unknown("none came") : page.fraction(each(row))),
        },
        { id: "values", title: "Distinct values", numeric: true, value: (row) => row.values },
      ],
    }).node;
    return page.section("churn", "What comes and goes", element("p", { class: "lead" },
      `Within ${page.fraction(hours)} hours, ${page.exact(report.churn.new)} series came and `
        + `${page.exact(report.churn.gone)} went. Pairs that most series have are left out, unless they change more often than all. `,
      "A label with the names of restarted pods has many series of each value; one with the ids of sessions has about one."),
      pairTable, labelTable);
  }

  // Creates the section with the series of each window.
  function windows(report) {
    if (report.windows.length === 0) {
      return null;
    }
    const lead = element("p", { class: "lead" },
      "New series were not in the window before (in the first window, all are new); gone series were, and are not in ",
      "this one. Many of both with an even total is churn: a label changes its values.");
    return page.section("windows", "Series over time", lead, page.chart(report.windows, "window"),
      windowTable(report));
  }

  // Creates the section with the metrics that grew.
  function growth(report) {
    if (report.growth.length === 0) {
      return null;
    }
    const table = new Table({
      id: "growth-table", caption: "Metrics by growth", noun: "metric", rows: report.growth, mark: page.markSelected,
      words: (row) => row.metric ?? "(no name)",
      columns: [
        {
          id: "metric", title: "Metric", wide: true, value: (row) => row.metric,
          cell: (row) => page.metricLink(row.metric),
        },
        { id: "first", title: "First window", numeric: true, value: (row) => row.first },
        { id: "last", title: "Last window", numeric: true, value: (row) => row.last },
        {
          id: "change", title: "Change", numeric: true, value: (row) => row.last - row.first,
          cell: (row) => page.signed(row.last - row.first),
        },
        { id: "largest", title: "Largest window", numeric: true, value: (row) => row.largest },
      ],
    });
    page.selection.subscribe(() => table.refresh());
    return page.section("growth", "What grows", table.node);
  }

  // Creates the section with the blocks of a folder or of a comparison.
  function blockList(report) {
    return report.blocks.length < 2 ? null : page.section("blocks", "Blocks", page.blocks(report));
  }

  Object.assign(page, { times, churn, windows, growth, blockList });
})((globalThis.chronoxide ??= {}));
