// Use by queries: what no query needs, and columns and notes with the queries that use something.
(function (page) {
  "use strict";

  const { element, exact, counted, Table } = page;

  const queries = (number) => counted(number, "query", "queries");

  // Lists the places of queries; `more` of them are not named.
  function places(used) {
    const more = used.queries - used.places.length;
    const names = used.places.map((place) => page.plain(place));
    return [...names, ...(more > 0 ? [`${exact(more)} more`] : [])].join("\n");
  }

  // Creates the column with the number of queries. Without queries it has no values, and is hidden.
  const queriesColumn = {
    id: "queries", title: "Used by", numeric: true, value: (row) => row.used_by?.queries ?? null,
    cell: (row) => (row.used_by === null ? null
      : element("span", { title: places(row.used_by) || null, class: row.used_by.queries === 0 ? "badge" : null },
        row.used_by.queries === 0 ? "no query" : queries(row.used_by.queries))),
  };

  // Creates the note of a suggestion: queries that would miss what is dropped.
  function breaks(used) {
    if (used === null) {
      return null;
    }
    if (used.queries === 0) {
      return element("p", { class: "note", "data-breaks": 0 }, "No query uses it.");
    }
    const names = used.places.slice(0, 3).map((place) => page.name(place));
    const more = used.queries - names.length;
    return element("p", { class: "warning", "data-breaks": used.queries, title: places(used) },
      `${queries(used.queries)} would miss it: `, page.listed([...names, ...(more > 0 ? [`${exact(more)} more`] : [])]),
      ".");
  }

  function unread(usage) {
    if (usage.unread.length === 0) {
      return null;
    }
    const item = (one) => element("li", {}, page.name(one.place), ": ", page.long(one.error),
      one.query === null ? null : [" ", element("code", {}, page.long(one.query))]);
    return element("details", { id: "unread", class: "note" },
      element("summary", {}, `${counted(usage.unread.length, "query or file", "queries or files")} not understood; names in `
        + "these queries count as used"),
      element("ul", {}, usage.unread.map(item)));
  }

  // Creates the section.
  function usage(report) {
    const used = report.usage;
    if (used === null) {
      return null;
    }
    const all = used.used.series + used.unused.series;
    const share = page.shareOf(used.unused.series, all);
    const table = used.unused_metrics.length === 0 ? null : new Table({
      id: "unused-table", caption: "Metrics that no query uses", noun: "metric", rows: used.unused_metrics,
      words: (row) => [row.metric ?? "(no name)", row.recorded_by ?? ""].join("\n"),
      columns: [
        { id: "metric", title: "Metric", wide: true, value: (row) => row.metric, cell: (row) => page.metric(row.metric) },
        { id: "series", title: "Series", numeric: true, value: (row) => row.series },
        page.shareColumn("Share", (row) => row.series, all),
        page.sizeColumn("text_bytes", "Bytes of text", (row) => row.text_bytes),
        {
          id: "recorded_by", title: "Made by", wide: true, value: (row) => row.recorded_by,
          cell: (row) => (row.recorded_by === null ? null : page.name(row.recorded_by)),
        },
      ],
    }).node;
    return page.section("usage", "Use by queries",
      element("p", { class: "lead" },
        element("strong", { "data-unused": used.unused.series }, `Unused: ${page.percent(share)} of the series`),
        ` (${exact(used.unused.series)} of ${exact(all)}), in ${counted(used.unused.metrics, "metric")}. `,
        `${queries(used.queries)} in ${counted(used.files, "file")} were read. A metric is used if a query names it.`),
      element("div", { class: "range" }, page.bar(1 - share, "used")), table, unread(used));
  }

  Object.assign(page, { usage, queriesColumn, breaks });
})((globalThis.chronoxide ??= {}));
