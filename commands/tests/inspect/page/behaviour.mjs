// Checks search, order, selection, keyboard and clipboard.
import { untilDrawn } from "./browser.mjs";
import { readRows, showAll } from "./figures.mjs";

const MAX_CELLS = 200;
const MAX_HIDDEN_SHARE = 0.0005;
const plain = (text) => text !== null && text !== "" && text.length < 40 && !/[\p{C}\p{Z}]/u.test(text);
const chip = (page) => page.locator("#filter .chip");
const cells = (page) => page.locator(".area > .cell");

async function checkSearch(page, check, report) {
  const name = report.labels.map((label) => label.name).find((text) => plain(text) && text.length > 2);
  const input = page.locator("#labels-table input");
  if (name === undefined || !await input.isVisible()) {
    return;
  }
  await input.fill(name.toUpperCase());
  const rows = await readRows(page, "labels-table");
  check("search narrows the labels", rows.length > 0 && rows.length < report.labels.length, `${rows.length} rows`);
  check("search finds the label", rows.some((row) => row.name.exact === name));
  check("search tells how many", (await page.locator("#labels-table .status").innerText())
    .startsWith(`${rows.length} of ${report.labels.length} `));
  await input.fill("no label has this text");
  check("search without a match says so", (await page.locator("#labels-table tbody").innerText()).includes("No label"));
  await input.fill("");
  check("an empty search shows all", (await readRows(page, "labels-table")).length > rows.length);
}

async function checkOrder(page, check, table, column, wanted) {
  if (wanted.length < 2) {
    return;
  }
  await showAll(page, table);
  const header = page.locator(`#${table} th[data-column="${column}"]`);
  for (const [order, sign] of [["descending", -1], ["ascending", 1]]) {
    await header.locator("button").click();
    const shown = (await readRows(page, table)).map((row) => row[column].exact);
    const known = shown.filter((value) => value !== "").map(Number);
    const sorted = wanted.filter((value) => value !== null).sort((left, right) => (left - right) * sign);
    check(`${table} sorts ${column} ${order}`, JSON.stringify(known) === JSON.stringify(sorted));
    check(`${table}: unknown ${column} last`, shown.slice(known.length).every((value) => value === ""));
    check(`${table}: aria-sort ${order}`, await header.getAttribute("aria-sort") === order);
  }
}

// Checks the cells of the treemap. Cells may be left out only if they are too small to be seen.
function checkAreas(check, name, shown, wanted) {
  const total = wanted.reduce((sum, number) => sum + number, 0);
  let next = 0;
  const hidden = wanted.filter((number) => {
    const found = shown[next] === number;
    next += found ? 1 : 0;
    return !found;
  });
  check(name, next === shown.length && hidden.every((number) => number < total * MAX_HIDDEN_SHARE),
    `${shown} of ${wanted}`);
}

// Checks that all parts of the page show the metric.
async function checkSelected(page, check, metric, way) {
  check(`${way}: chip appears`, await chip(page).isVisible());
  if (plain(metric.metric)) {
    check(`${way}: chip has the name`, (await chip(page).innerText()).includes(metric.metric));
  }
  const rows = await readRows(page, "labels-table");
  check(`${way}: labels are those of the metric`, JSON.stringify(rows.map((row) => Number(row.values.exact)))
    === JSON.stringify(metric.labels.map((label) => label.values)));
  const series = await cells(page).evaluateAll((list) => list.map((cell) => Number(cell.dataset.series)));
  const parts = [...metric.values.map((item) => item.series), metric.other_series, metric.without];
  const wanted = metric.labels.length === 0 ? [metric.series] : parts.filter((number) => number > 0);
  checkAreas(check, `${way}: treemap shows the values`, series, wanted);
  if (metric.labels.length > 0) {
    const values = (await readRows(page, "values-table")).map((row) => Number(row.series.exact));
    check(`${way}: table of values`, JSON.stringify(values) === JSON.stringify(wanted), `${values}`);
  }
}

async function checkCleared(page, check, way) {
  check(`${way}: chip disappears`, await chip(page).count() === 0);
  check(`${way}: no row is selected`, await page.locator("tr.selected").count() === 0);
  check(`${way}: table of values disappears`, await page.locator("#values-table").count() === 0);
}

async function checkSelection(page, check, report) {
  const large = report.metrics.filter((metric) => metric.series > 0);
  if (large.length === 0) {
    return;
  }
  const listed = large.slice(0, MAX_CELLS).map((metric) => metric.series);
  const others = report.totals.series - listed.reduce((sum, number) => sum + number, 0);
  const shown = await cells(page).evaluateAll((list) => list.map((cell) => Number(cell.dataset.series)));
  checkAreas(check, "treemap shows all metrics", shown, others > 0 ? [...listed, others] : listed);
  await cells(page).first().click({ position: { x: 8, y: 8 } });
  await checkSelected(page, check, large[0], "click in the treemap");
  await page.reload();
  await untilDrawn(page);
  await checkSelected(page, check, large[0], "reload with the fragment");
  await page.keyboard.press("Escape");
  await checkCleared(page, check, "Escape");
  await page.goBack();
  await checkSelected(page, check, large[0], "back");
  await chip(page).click();
  await checkCleared(page, check, "chip");

  const index = Math.min(1, report.metrics.length - 1);
  await page.locator("#metrics-table tbody [data-metric]").nth(index).click();
  await checkSelected(page, check, report.metrics[index], "click in the table");
  check("click in the table: the row is marked", await page.locator("#metrics-table tr.selected").count() === 1);
  await page.keyboard.press("Escape");
  await checkCleared(page, check, "Escape after the table");
}

// Reaches the treemap with Tab alone, moves with an arrow, and selects with Enter.
async function checkKeyboard(page, check, report) {
  if (report.metrics.length === 0) {
    return;
  }
  await page.reload();
  await untilDrawn(page);
  await page.evaluate(() => document.activeElement.blur());
  const focused = () => page.evaluate(() => ({
    cell: document.activeElement.matches(".area .stop"), label: document.activeElement.getAttribute("aria-label"),
    stops: document.querySelectorAll('.area [tabindex="0"]').length,
  }));
  let state = { cell: false };
  for (let presses = 0; presses < 60 && !state.cell; presses += 1) {
    await page.keyboard.press("Tab");
    state = await focused();
  }
  check("keyboard reaches the treemap", state.cell);
  check("the treemap is one tab stop", state.stops === 1);
  if (report.metrics.length > 2) {
    const moved = new Set([state.label]);
    for (const key of ["ArrowRight", "ArrowDown", "End", "Home"]) {
      await page.keyboard.press(key);
      moved.add((await focused()).label);
    }
    check("arrows move the focus", moved.size > 2, [...moved].join(" | "));
    check("Home returns to the first cell", (await focused()).label === state.label);
  }
  await page.keyboard.press("Enter");
  check("Enter selects the metric", await chip(page).isVisible());
  check("focus stays in the treemap", (await focused()).cell);
  await page.keyboard.press("Escape");
  check("Escape returns to the metric", await chip(page).count() === 0 && (await focused()).label === state.label);
}

async function checkCopy(page, check, report) {
  if (report.suggestions[0]?.command === "") {
    return;
  }
  if (report.suggestions.length === 0 || report.totals.series === 0) {
    return;
  }
  const card = page.locator("[data-suggestion]").first();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await card.locator(".copy").click();
  await page.waitForTimeout(50);
  check("Copy says what it did", (await card.locator(".status").innerText()) === "Copied.");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  // Clipboards end text at a NUL, and may change line ends.
  const comparable = (text) => text.split("\0")[0].replace(/\r\n?/g, "\n");
  check("Copy copies the command", comparable(copied) === comparable(report.suggestions[0].command), copied);
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
  });
  await card.locator(".copy").click();
  await page.waitForTimeout(50);
  const selected = await page.evaluate(() => getSelection().toString());
  check("without a clipboard, Copy selects the command", selected === await card.locator("code").innerText(), selected);
}

export async function checkBehaviour(page, check, report) {
  await checkSearch(page, check, report);
  await checkOrder(page, check, "labels-table", "values", report.labels.map((label) => label.values));
  await checkOrder(page, check, "labels-table", "remains", report.labels.map((label) => label.remains));
  await checkOrder(page, check, "metrics-table", "series", report.metrics.map((metric) => metric.series));
  await checkOrder(page, check, "windows-table", "gone", report.windows.map((window) => window.gone));
  await checkOrder(page, check, "changes-table", "came", (report.comparison?.metrics ?? []).map((row) => row.came));
  await checkSelection(page, check, report);
  await checkKeyboard(page, check, report);
  await checkCopy(page, check, report);
}

