// Treemap of series: metrics, and inside each the values of its largest label.
(function (page) {
  "use strict";

  const { element, exact, compact, counted, percent, shareOf, layout, selection } = page;

  const MIN_WIDTH_FOR_TEXT = 48;
  const MIN_WIDTH_FOR_VALUE = 80;
  const MIN_WIDTH_FOR_COUNT = 110;
  const MIN_HEIGHT_FOR_TEXT = 17;
  // Smaller rectangles cannot be told apart.
  const MIN_SIDE = 3;
  const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

  const cellNames = {
    metric: (cell) => page.plain(cell.metric.metric),
    others: (cell) => counted(cell.metrics, "other metric"),
    value: (cell) => page.plain(cell.value),
    rest: (cell) => counted(cell.values, "other value"),
    without: (cell, metric) => `without ${page.plain(metric.labels[0].name)}`,
  };

  const cellNodes = {
    metric: (cell) => (cell.metric.metric === null ? page.metric(null) : page.value(cell.metric.metric)),
    others: (cell) => element("span", {}, cellNames.others(cell)),
    value: (cell) => page.value(cell.value),
    rest: (cell) => element("em", {}, cellNames.rest(cell)),
    without: (cell, metric) => element("em", {}, "without ", page.value(metric.labels[0].name)),
  };

  class Treemap {
    constructor(report) {
      this.report = report;
      this.total = report.totals.series;
      this.area = element("div", { class: "area", role: "group", "aria-describedby": "treemap-help" });
      this.detail = element("p", { class: "pointed", "aria-hidden": "true" });
      this.heading = element("p", { class: "lead", id: "treemap-help" });
      this.values = element("div", { class: "values" });
      this.node = element("div", { class: "treemap" },
        this.heading, this.area, this.detail, this.legend(), this.values);
      this.area.addEventListener("keydown", (event) => this.key(event));
      this.area.addEventListener("pointerover", (event) => this.point(event.target.closest("[data-tip]")));
      this.area.addEventListener("focusin", (event) => this.point(event.target.closest("[data-tip]")));
      selection.subscribe((metric, before) => this.draw(before));
      new ResizeObserver(() => this.resize()).observe(this.area);
    }

    legend() {
      const limits = layout.SHADES;
      const texts = limits.map((limit, index) => (index === 0 ? `up to ${exact(limit)}` : `to ${exact(limit)}`));
      texts.push("more");
      return element("p", { class: "legend" }, "Distinct values of the metric's largest label: ",
        texts.map((text, index) => element("span", { class: "key" },
          element("span", { class: `swatch shade-${index}`, "aria-hidden": "true" }), text)));
    }

    resize() {
      if (this.area.clientWidth !== this.width) {
        this.draw();
      }
    }

    selected() {
      return this.report.metrics.find((metric) => metric.metric === selection.metric) ?? null;
    }

    draw(before) {
      const focused = this.area.contains(document.activeElement);
      const metric = selection.metric === undefined ? null : this.selected();
      this.metric = metric;
      this.width = this.area.clientWidth || 960;
      this.height = this.area.clientHeight || 480;
      const cells = metric === null ? layout.metricCells(this.report) : this.zoomed(metric);
      const root = layout.layOut(cells, this.width, this.height);
      this.root = root;
      this.nodes = (root.children ?? []).filter((node) => node.x1 - node.x0 > 0 && node.y1 - node.y0 > 0);
      const cellElements = this.nodes.map((node) => this.cell(node, metric));
      this.stops = cellElements.map((made) => made.querySelector(".stop"));
      this.area.replaceChildren(...cellElements);
      const known = this.nodes.findIndex((node) => before !== undefined && node.data.metric?.metric === before);
      this.rove(Math.max(0, known), focused || (before !== undefined && document.activeElement === document.body));
      this.explain(metric);
      if (this.listed !== metric) {
        this.listed = metric;
        const tables = metric === null || metric.labels.length === 0 ? [] : [this.list(metric, cells)];
        this.values.replaceChildren(...tables);
      }
    }

    // Creates the table of the cells inside the selected metric: many are too small to be seen.
    list(metric, cells) {
      const value = (cell) => (cell.kind === "value" ? cell.value : cellNames[cell.kind](cell, metric));
      return new page.Table({
        id: "values-table", noun: "value", rows: cells, words: value,
        caption: ["Values of ", page.name(metric.labels[0].name), " in ", page.metric(metric.metric)],
        columns: [
          {
            id: "value", title: "Value", wide: true, value,
            cell: (cell) => cellNodes[cell.kind](cell, metric),
          },
          { id: "series", title: "Series", numeric: true, value: (cell) => cell.series },
          page.shareColumn("Share of the metric", (cell) => cell.series, metric.series),
        ],
      }).node;
    }

    // A metric without labels has one cell: itself.
    zoomed(metric) {
      const cells = layout.valueCells(metric);
      const shade = layout.metricCell(metric).shade;
      return cells.length > 0 ? cells.map((cell) => ({ ...cell, shade })) : [layout.metricCell(metric)];
    }

    explain(metric) {
      this.detail.textContent = "\u00a0";
      this.area.setAttribute("aria-label", metric === null ? "Series by metric"
        : `Series of metric ${page.plain(metric.metric)}`);
      if (metric === null) {
        this.heading.replaceChildren("The area of a rectangle is its number of series. A rectangle is a metric; ",
          "inside are the values of the label that has the most values in that metric. Select a metric to look ",
          "into it. The table of metrics has the same numbers.");
        return;
      }
      const split = metric.labels.length === 0 ? " Its series have no labels."
        : [" The area of a rectangle is the number of series with that value of ", page.name(metric.labels[0].name),
          ", the label with the most values in this metric."];
      this.heading.replaceChildren(page.metric(metric.metric), `: ${counted(metric.series, "series", "series")}, `,
        `${percent(shareOf(metric.series, this.total))} of all.`, ...[split].flat());
      if (metric.help) {
        this.heading.append(" ", page.long(metric.help));
      }
    }

    // Returns the text of a cell for its title, for screen readers and for the line below the treemap.
    tip(cell, metric) {
      const share = percent(shareOf(cell.series, this.total));
      let text = `${cellNames[cell.kind](cell, metric)}: ${counted(cell.series, "series", "series")}, ${share}`;
      if (cell.kind === "metric" && cell.metric.labels.length > 0) {
        const label = cell.metric.labels[0];
        text += `; label ${page.plain(label.name)} has ${counted(label.values, "value")}`;
      }
      return text;
    }

    cell(node, metric) {
      const cell = node.data;
      const tip = this.tip(cell, metric);
      const selectable = cell.kind === "metric" && metric === null;
      const spoken = { class: "stop", "aria-label": tip, tabindex: -1 };
      const stop = selectable ? element("button", { type: "button", ...spoken })
        : element("span", { ...spoken, role: "img" });
      const made = element("div", {
        class: `cell ${cell.kind} shade-${cell.shade}`, title: tip, "data-tip": tip, "data-series": cell.series,
      }, stop);
      if (selectable) {
        // The values lie above the button and have titles of their own; a click on them counts as well.
        made.addEventListener("click", () => selection.select(cell.metric.metric));
      }
      for (const child of node.children ?? []) {
        if (child.x1 - child.x0 >= MIN_SIDE && child.y1 - child.y0 >= MIN_SIDE) {
          made.append(this.part(child, node, cell.metric));
        }
      }
      if (node.children && layout.hasHeader(node)) {
        made.append(this.text(node, metric, "header"));
      } else {
        this.addText(made, node, metric);
      }
      layout.place(made, node, this.root);
      return made;
    }

    // Creates a value inside a metric. The metric's text covers it for screen readers.
    part(node, parent, metric) {
      const tip = this.tip(node.data, metric);
      const made = element("span", { class: `part ${node.data.kind}`, title: tip, "data-tip": tip });
      // Without the metric's name above it, a value would look like a metric.
      if (layout.hasHeader(parent) && node.x1 - node.x0 >= MIN_WIDTH_FOR_VALUE) {
        this.addText(made, node, metric);
      }
      layout.place(made, node, parent);
      return made;
    }

    addText(made, node, metric) {
      if (node.x1 - node.x0 >= MIN_WIDTH_FOR_TEXT && node.y1 - node.y0 >= MIN_HEIGHT_FOR_TEXT) {
        made.append(this.text(node, metric, "text"));
      }
    }

    text(node, metric, kind) {
      const count = node.x1 - node.x0 < MIN_WIDTH_FOR_COUNT ? null
        : element("span", { class: "count" }, compact(node.data.series));
      return element("span", { class: kind, "aria-hidden": "true" },
        element("span", { class: "title" }, cellNodes[node.data.kind](node.data, metric)), count);
    }

    point(target) {
      this.detail.textContent = target ? target.dataset.tip : "\u00a0";
    }

    // One cell is in the tab order; arrow keys move to the others.
    rove(index, focus) {
      this.stops.forEach((stop, other) => stop.setAttribute("tabindex", other === index ? 0 : -1));
      if (focus && this.stops[index]) {
        this.stops[index].focus({ preventScroll: true });
      }
    }

    key(event) {
      const from = this.stops.indexOf(event.target);
      if (!KEYS.has(event.key) || from === -1) {
        return;
      }
      event.preventDefault();
      const last = this.nodes.length - 1;
      const to = event.key === "Home" ? 0 : event.key === "End" ? last
        : this.nodes.indexOf(layout.neighbour(this.nodes, this.nodes[from], event.key));
      this.rove(to, true);
    }
  }

  // Creates the section, or `null` without series.
  function treemap(report) {
    if (report.totals.series === 0 || report.metrics.length === 0) {
      return null;
    }
    const map = new Treemap(report);
    map.area.setAttribute("aria-describedby", "treemap-help metrics-table-caption");
    return page.section("treemap", "Where the series are", map.node);
  }

  Object.assign(page, { treemap });
})((globalThis.chronoxide ??= {}));
