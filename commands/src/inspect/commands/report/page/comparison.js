// Section of a comparison: series before and after, metrics and labels that changed.
(function (page) {
  "use strict";

  const { element, exact, counted, countTile, percent, shareOf, selection, Table } = page;

  const side = (id, title, input) => countTile(id, title, input.series,
    `${page.bytes(input.bytes)} in ${counted(input.blocks, "block")}`);

  function tiles(comparison) {
    const { before, after, same, gone, came } = comparison;
    return element("dl", { class: "tiles" },
      side("before", "Series before", before), side("after", "Series after", after),
      countTile("same", "In both", same, `${percent(shareOf(same, before.series))} of before`),
      countTile("gone", "Gone", gone, `${percent(shareOf(gone, before.series))} of before`),
      countTile("came", "Came", came, `${percent(shareOf(came, after.series))} of after`));
  }

  function metricTable(rows) {
    const table = new Table({
      id: "changes-table", caption: "Metrics with changes", noun: "metric", rows, mark: page.markSelected,
      words: (row) => row.metric ?? "(no name)",
      columns: [
        {
          id: "metric", title: "Metric", wide: true, value: (row) => row.metric,
          cell: (row) => page.metricLink(row.metric),
        },
        { id: "before", title: "Before", numeric: true, value: (row) => row.before },
        { id: "after", title: "After", numeric: true, value: (row) => row.after },
        {
          id: "change", title: "Change", numeric: true, value: (row) => row.after - row.before,
          cell: (row) => page.signed(row.after - row.before),
        },
        { id: "gone", title: "Gone", numeric: true, value: (row) => row.gone },
        { id: "came", title: "Came", numeric: true, value: (row) => row.came },
      ],
    });
    selection.subscribe(() => table.refresh());
    return table.node;
  }

  // Returns the share of the changes that are not there without the label, or `null` if not computed. Without a
  // label, series may merge; the number of changes does not grow.
  function explained(row, changes) {
    if (row.gone_without === null || row.came_without === null) {
      return null;
    }
    return shareOf(changes - row.gone_without - row.came_without, changes);
  }

  function effect(row, changes) {
    const share = explained(row, changes);
    if (share === null) {
      return page.unknown("not computed");
    }
    return [element("span", { class: "effect", "data-gone": row.gone_without, "data-came": row.came_without },
      `without it, ${exact(row.gone_without)} gone and ${exact(row.came_without)} came`), page.bar(share)];
  }

  function labelTable(rows, changes) {
    return new Table({
      id: "churn-table", caption: "Labels with values that are only before or only after", noun: "label", rows,
      words: (row) => row.name,
      columns: [
        { id: "name", title: "Label", wide: true, value: (row) => row.name, cell: (row) => page.name(row.name) },
        { id: "values_gone", title: "Values gone", numeric: true, value: (row) => row.values_gone },
        { id: "values_came", title: "Values came", numeric: true, value: (row) => row.values_came },
        {
          id: "effect", title: "If the label is ignored", numeric: true, value: (row) => explained(row, changes),
          cell: (row) => effect(row, changes),
        },
      ],
    }).node;
  }

  // Says which label exploded: "trace_id of job x: 12 to 480,000 values, 61% of the series that came".
  function explosion({ label, also, owner, values_before: before, values_after: after, series }, came) {
    const of = owner === null ? null : [" of ", page.name(owner[0]), " ", page.name(owner[1])];
    const others = also.length === 0 ? null
      : [" (and ", ...also.flatMap((name, place) => [place === 0 ? "" : ", ", page.name(name)]), ")"];
    return element("p", { class: "explosion", "data-explosion": label, "data-series": series },
      element("strong", {}, page.name(label)), others, of, `: ${exact(before)} to ${counted(after, "value")}, `,
      element("strong", {}, percent(shareOf(series, came))), " of the series that came.");
  }

  // Says what is left of the changes apart from restarted pods and the like.
  function generated({ labels, gone, came }) {
    const names = labels.flatMap((label, place) => [place === 0 ? "" : ", ", page.name(label)]);
    return element("p", { id: "without-generated", "data-gone": gone, "data-came": came },
      `If all labels are ignored whose values look generated, ${exact(gone)} are gone and ${exact(came)} came (`,
      ...names, ").");
  }

  // Creates the section, or `null` if the report is not a comparison.
  function comparison(report) {
    const compared = report.comparison;
    if (compared === null) {
      return null;
    }
    const changes = compared.gone + compared.came;
    const parts = [element("p", { class: "lead" }, changes === 0 ? "Both have the same series."
      : "A series that is gone often came back under another value of one label, such as the name of a pod. If "
        + "ignoring a label leaves few changes, that label is the cause. The bar is the share of the changes that "
        + "ignoring the label removes.")];
    parts.push(...compared.explosions.map((one) => explosion(one, compared.came)), tiles(compared));
    if (compared.without_generated !== null) {
      parts.push(generated(compared.without_generated));
    }
    if (compared.labels.length > 0) {
      parts.push(element("h3", {}, "Labels with changed values"), labelTable(compared.labels, changes));
    }
    if (compared.metrics.length > 0) {
      parts.push(element("h3", {}, "Metrics with changes"), metricTable(compared.metrics));
    }
    return page.section("comparison", "Before and after", parts);
  }

  Object.assign(page, { comparison });
})((globalThis.chronoxide ??= {}));
