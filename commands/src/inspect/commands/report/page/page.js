// Builds the page from the report.
(function (page) {
  "use strict";

  const { element, button, selection } = page;

  const MAKERS = [
    "comparison", "usage", "suggestions", "treemap", "labels", "metrics", "times", "churn", "windows", "growth",
    "parts", "blockList",
  ];

  // Shows the selected metric in a bar that stays in view.
  function filterBar(node) {
    function show(metric, before) {
      node.hidden = metric === undefined;
      if (metric === undefined) {
        node.replaceChildren();
        return;
      }
      const chip = button({ class: "chip", title: "Show all metrics (Escape)" }, () => selection.clear(),
        "metric ", page.metric(metric), element("span", { class: "cross", "aria-hidden": "true" }, "✕"),
        element("span", { class: "unseen" }, " (remove filter)"));
      const jump = (id, text) => button({ class: "jump" }, () => page.goTo(id), text);
      node.replaceChildren(chip, jump("treemap", "Values"), jump("labels", "Labels"), jump("metrics", "Metrics"));
    }
    selection.subscribe(show);
    show(selection.metric);
  }

  // Escape removes the filter, unless it has something to do in a search box.
  function clearOnEscape(event) {
    const searching = event.target instanceof HTMLInputElement && event.target.value !== "";
    if (event.key === "Escape" && !event.defaultPrevented && !searching && selection.metric !== undefined) {
      selection.clear();
    }
  }

  function build(report) {
    const find = (id) => document.getElementById(id);
    selection.start(report.metrics.map((metric) => metric.metric));
    filterBar(find("filter"));
    const sections = MAKERS.map((maker) => page[maker](report)).filter((section) => section !== null);
    find("header").append(...[page.heading(report)].flat().filter(Boolean));
    if (sections.length > 1) {
      find("header").append(page.contents(sections));
    }
    find("main").append(page.tiles(report.totals));
    if (report.skipped.length > 0) {
      find("main").append(element("p", { id: "skipped", class: "warning", role: "note" },
        "Incomplete: these files could not be read, and their series are missing: ",
        page.listed(report.skipped.map((name) => page.name(name))), "."));
    }
    if (report.totals.series === 0) {
      find("main").append(element("p", { class: "lead" }, report.match.length > 0
        ? "No series matches the selectors." : "There are no series in the input."));
    }
    find("main").append(...sections);
    find("footer").append(...page.footer(report));
    addEventListener("keydown", clearOnEscape);
  }

  // A damaged report must not look like an empty one.
  function fail(error) {
    document.getElementById("main").replaceChildren(element("h1", {}, "This report cannot be shown"),
      element("p", {}, "Its data is damaged, or comes from another version of chronoxide-inspect: ",
        page.long(String(error.message))));
  }

  try {
    const report = JSON.parse(document.getElementById("report").textContent);
    if (report.schema !== 1) {
      throw new Error(`schema ${report.schema}, expected 1`);
    }
    build(report);
  } catch (error) {
    fail(error);
    throw error;
  }
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})((globalThis.chronoxide ??= {}));
