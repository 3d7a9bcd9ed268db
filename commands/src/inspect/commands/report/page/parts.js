// Table of the parts of the files, and table of the files.
(function (page) {
  "use strict";

  const { element, Table } = page;

  // Creates the section with the bytes of each part of the files.
  function parts(report) {
    if (report.parts.length === 0) {
      return null;
    }
    const table = new Table({
      id: "parts-table", caption: "Bytes of the files by part", noun: "part", rows: report.parts,
      words: (row) => row.name,
      columns: [
        { id: "name", title: "Part", value: (row) => row.name, cell: (row) => page.name(row.name) },
        page.sizeColumn("bytes", "Bytes", (row) => row.bytes),
        page.shareColumn("Share", (row) => row.bytes, report.totals.bytes),
      ],
    });
    const note = report.match.length === 0 ? null : element("p", { class: "note" },
      "The parts are those of whole files, whatever series are selected.");
    return page.section("bytes", "Where the bytes go", table.node, note);
  }

  const perSeries = (block) => (block.series > 0 ? block.bytes / block.series : null);

  // Creates the table of blocks.
  function blocks(report) {
    const table = new Table({
      id: "blocks-table", caption: "Blocks in order of time", noun: "block", rows: report.blocks,
      words: (row) => `${row.name}\n${row.id}`,
      columns: [
        {
          id: "name", title: "Block", wide: true, value: (row) => row.name,
          cell: (row) => [page.name(row.name), element("span", { class: "detail" }, page.name(row.id))],
        },
        { id: "start", title: "Start", value: (row) => row.start, cell: (row) => page.time(row.start) },
        { id: "end", title: "End", value: (row) => row.end, cell: (row) => page.time(row.end) },
        { id: "series", title: "Series", numeric: true, value: (row) => row.series },
        page.sizeColumn("bytes", "Bytes", (row) => row.bytes),
        {
          id: "bytes_per_series", title: "Bytes per series", numeric: true, value: perSeries,
          cell: (row) => (perSeries(row) === null ? page.unknown("no series") : page.fraction(perSeries(row))),
        },
      ],
    });
    return table.node;
  }

  Object.assign(page, { parts, blocks });
})((globalThis.chronoxide ??= {}));
