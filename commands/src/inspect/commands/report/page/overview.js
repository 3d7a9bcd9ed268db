// Heading, contents list and tiles.
(function (page) {
  "use strict";

  const { element, exact, compact, counted } = page;

  // Numbers up to this one fit into a tile in full.
  const MAX_IN_TILE = 9999999;

  // Creates a tile: a figure, its name, and a line of detail.
  function tile(id, title, content, number, detail = null) {
    return element("div", { class: "tile", "data-tile": id, "data-exact": number },
      element("dt", {}, title),
      element("dd", {}, element("span", { class: "figure", title: number === null ? null : exact(number) }, content),
        detail === null ? null : element("span", { class: "detail" }, detail)));
  }

  function countTile(id, title, number, detail = null) {
    return tile(id, title, number > MAX_IN_TILE ? compact(number) : exact(number), number, detail);
  }

  function tiles(totals) {
    const perSeries = totals.bytes_per_series;
    const sizeDetail = perSeries === null ? counted(totals.blocks, "block")
      : `${page.fraction(perSeries)} bytes per series`;
    const average = totals.series > 0 ? `${page.fraction(totals.labels / totals.series)} labels each` : null;
    return element("dl", { class: "tiles" },
      countTile("series", "Series", totals.series, average),
      countTile("metrics", "Metrics", totals.metrics),
      countTile("label_names", "Label names", totals.label_names),
      countTile("label_pairs", "Distinct label pairs", totals.label_pairs,
        `${page.bytes(totals.value_bytes)} of values`),
      tile("bytes", totals.blocks === 1 ? "File" : "Files", page.bytes(totals.bytes), totals.bytes, sizeDetail));
  }

  function timeRange(totals) {
    if (totals.start === null && totals.end === null) {
      return null;
    }
    return element("p", { class: "range" }, `${page.time(totals.start)} to ${page.time(totals.end)} UTC`);
  }

  function selectors(match) {
    if (match.length === 0) {
      return null;
    }
    return element("p", {}, "Only series that match ", page.listed(match.map((text) => page.name(text))), ".");
  }

  // Creates the heading: the names of the inputs, the times and the selectors.
  function heading(report) {
    const names = report.inputs.map((input) => page.name(input));
    const title = report.kind === "comparison" && names.length === 2
      ? [names[1], " compared with ", names[0]] : page.listed(names);
    return [
      element("p", { class: "kicker" }, "Series and labels"),
      element("h1", {}, title),
      timeRange(report.totals),
      selectors(report.match),
    ];
  }

  // Moves to a section without changing the fragment, which holds the selected metric.
  function goTo(id) {
    const title = document.getElementById(`${id}-title`);
    title.scrollIntoView();
    title.focus({ preventScroll: true });
  }

  // Creates the list of sections. The links work for "copy link" readers and screen readers alike.
  function contents(sections) {
    const links = sections.map((section) => {
      const link = element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        goTo(section.id);
      });
      return element("li", {}, link);
    });
    return element("nav", { "aria-label": "Contents" }, element("ul", {}, links));
  }

  function footer(report) {
    return [
      element("p", {}, "A series is a distinct set of labels, metric name included. A series in more than one block ",
        "counts once. All counts are exact. Samples are not part of the files and not counted. ",
        "Bytes of text are those of names and values before they are stored; bytes of files are those on disk."),
      element("p", {}, "Made by ", page.name(report.generator), ". The page loads nothing and sends nothing."),
    ];
  }

  Object.assign(page, { tile, countTile, tiles, heading, contents, goTo, footer });
})((globalThis.chronoxide ??= {}));
