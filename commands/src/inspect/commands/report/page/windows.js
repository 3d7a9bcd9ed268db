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

  Object.assign(page, { times, windows, growth, blockList });
})((globalThis.chronoxide ??= {}));
