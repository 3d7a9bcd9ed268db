// Tables that can be searched and sorted.
//
// A column is `{ id, title, value(row), cell(row), numeric, wide, sortable }`. `value` is the exact value: it is the
// sort key and the `data-value` of the cell. `cell` returns the content; without it, `value` is shown.
(function (page) {
  "use strict";

  const { element, button, exact, counted } = page;

  const MAX_ROWS = 25;
  // A search box above a table that fits on a screen is in the way.
  const MIN_ROWS_FOR_SEARCH = 10;
  const ORDER = new Intl.Collator("en", { numeric: true });

  // Compares two values; unknown values come last in both directions.
  function compare(left, right, direction) {
    if (left === null || right === null) {
      return (left === null) - (right === null);
    }
    if (typeof left === "number" && typeof right === "number") {
      return (left - right) * direction;
    }
    return ORDER.compare(String(left), String(right)) * direction;
  }

  // Print shows all rows that the search leaves. Tables that left the page are skipped.
  const tables = new Set();
  function printAll(printing) {
    for (const table of tables) {
      if (table.node.isConnected) {
        table.print(printing);
      } else {
        tables.delete(table);
      }
    }
  }
  addEventListener("beforeprint", () => printAll(true));
  addEventListener("afterprint", () => printAll(false));

  class Table {
    constructor({ id, caption, noun, columns, rows, words, mark }) {
      Object.assign(this, { id, noun, columns, rows, words, mark });
      this.all = false;
      this.printing = false;
      this.sorted = null;
      this.cache = new Map();
      this.build(caption);
      this.hideEmpty();
      this.refresh();
      tables.add(this);
    }

    print(printing) {
      this.printing = printing;
      this.refresh();
    }

    build(caption) {
      this.headers = this.columns.map((column) => this.header(column));
      this.body = element("tbody");
      this.caption = element("caption", { id: `${this.id}-caption` }, caption);
      this.table = element("table", {}, this.caption,
        element("thead", {}, element("tr", {}, this.headers)), this.body);
      // A container that scrolls must be reachable by keyboard.
      const scroller = element("div", {
        class: "scroller", tabindex: 0, role: "region", "aria-labelledby": `${this.id}-caption`,
      }, this.table);
      this.input = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
      this.input.addEventListener("input", () => this.refresh());
      this.status = element("span", { class: "status", role: "status" });
      this.search = element("div", { class: "tools" },
        element("label", {}, `Search ${this.noun}s `, this.input), this.status);
      this.search.hidden = this.rows.length <= MIN_ROWS_FOR_SEARCH;
      this.more = button({ class: "more" }, () => this.toggle());
      this.node = element("div", { class: "table", id: this.id }, this.search, scroller, this.more);
    }

    header(column) {
      const kind = { class: column.numeric ? "number" : null, scope: "col", "data-column": column.id };
      if (column.sortable === false) {
        return element("th", kind, column.title);
      }
      const arrow = element("span", { class: "arrow", "aria-hidden": "true" });
      return element("th", kind, button({ class: "sort" }, () => this.sort(column), column.title, arrow));
    }

    // Sorts by a column: numbers from the largest, text from A. The second click turns the order around.
    sort(column) {
      const first = column.numeric ? -1 : 1;
      const again = this.sorted !== null && this.sorted.column === column;
      this.sorted = { column, direction: again ? -this.sorted.direction : first };
      this.columns.forEach((other, index) => {
        const header = this.headers[index];
        header.removeAttribute("aria-sort");
        if (other === column) {
          header.setAttribute("aria-sort", this.sorted.direction === 1 ? "ascending" : "descending");
        }
      });
      this.refresh();
    }

    toggle() {
      this.all = !this.all;
      this.refresh();
    }

    // Replaces the rows and clears the search. The order stays if the columns do.
    replace({ caption, rows, columns }) {
      if (columns !== this.columns) {
        this.columns = columns;
        this.sorted = null;
        this.headers = columns.map((column) => this.header(column));
        this.table.tHead.rows[0].replaceChildren(...this.headers);
      }
      this.caption.replaceChildren(...[caption].flat());
      this.rows = rows;
      this.hideEmpty();
      this.cache.clear();
      this.input.value = "";
      this.search.hidden = rows.length <= MIN_ROWS_FOR_SEARCH;
      this.refresh();
    }

    matches() {
      const wanted = this.input.value.trim().toLowerCase();
      const found = wanted === "" ? [...this.rows]
        : this.rows.filter((row) => this.words(row).toLowerCase().includes(wanted));
      if (this.sorted !== null) {
        const { column, direction } = this.sorted;
        found.sort((left, right) => compare(column.value(left), column.value(right), direction));
      }
      return found;
    }

    refresh() {
      const found = this.matches();
      const shown = this.all || this.printing ? found : found.slice(0, MAX_ROWS);
      this.body.replaceChildren(...shown.map((row) => this.row(row)));
      if (found.length === 0) {
        this.body.append(element("tr", { class: "nothing" },
          element("td", { colspan: this.columns.length }, `No ${this.noun} matches.`)));
      }
      this.status.textContent = found.length === this.rows.length ? ""
        : `${exact(found.length)} of ${counted(this.rows.length, this.noun)}`;
      this.more.hidden = found.length <= MAX_ROWS;
      this.more.textContent = this.all ? `Show the first ${MAX_ROWS}` : `Show all ${exact(found.length)}`;
      this.more.setAttribute("aria-expanded", String(this.all));
      for (const arrow of this.table.querySelectorAll("th .arrow")) {
        const order = arrow.closest("th").getAttribute("aria-sort");
        arrow.textContent = order === null ? "" : order === "ascending" ? "▲" : "▼";
      }
    }

    // Hides columns without any value: they would push the others off a narrow screen.
    hideEmpty() {
      const isEmpty = (column) => this.rows.length > 0
        && this.rows.every((row) => column.value(row) === null || column.value(row) === "");
      this.columns.forEach((column, index) => {
        this.headers[index].hidden = index > 0 && isEmpty(column);
      });
    }

    // Rows are made when they are first shown, and kept.
    row(row) {
      let node = this.cache.get(row);
      if (!node) {
        node = element("tr", { "data-row": this.rows.indexOf(row) },
          this.columns.map((column, index) => this.cell(column, row, index)));
        this.cache.set(row, node);
      }
      if (this.mark) {
        this.mark(node, row);
      }
      return node;
    }

    cell(column, row, index) {
      const value = column.value(row);
      const content = column.cell ? column.cell(row) : typeof value === "number" ? exact(value) : value;
      const kind = [column.numeric ? "number" : "", column.wide ? "wide" : ""].join(" ").trim();
      return element(index === 0 ? "th" : "td", {
        scope: index === 0 ? "row" : null,
        class: kind || null,
        "data-column": column.id,
        hidden: this.headers[index].hidden ? "" : null,
        "data-value": value === null ? "" : typeof value === "string" ? page.visible(value) : value,
      }, content);
    }
  }

  // Creates the mark of an unknown number.
  function unknown(reason) {
    return element("span", { class: "placeholder", title: reason },
      element("span", { "aria-hidden": "true" }, "–"), element("span", { class: "unseen" }, reason));
  }

  // Creates a column of sizes.
  function sizeColumn(id, title, value) {
    return { id, title, numeric: true, value, cell: (row) => page.size(value(row)) };
  }

  // Creates a column with a share of `whole`, as a number with a bar.
  function shareColumn(title, value, whole) {
    return {
      id: "share", title, numeric: true, value,
      cell: (row) => [page.percent(page.shareOf(value(row), whole)), page.bar(page.shareOf(value(row), whole))],
    };
  }

  Object.assign(page, { Table, unknown, sizeColumn, shareColumn });
})((globalThis.chronoxide ??= {}));
