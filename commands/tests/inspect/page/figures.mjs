// Checks that the figures on the page are those of the JSON.
import { isDeepStrictEqual } from "node:util";

// Written independently of the page's code, so that an error there is not repeated here.
function escaped(text) {
  return text === null ? "" : text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}

const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

export async function showAll(page, table) {
  const more = page.locator(`#${table} .more`);
  if (await more.isVisible() && await more.getAttribute("aria-expanded") === "false") {
    await more.click();
  }
}

// Returns the rows of a table: by column, the exact value and the visible text.
export function readRows(page, table) {
  return page.evaluate((id) => [...document.querySelectorAll(`#${id} tbody tr[data-row]`)].map((row) =>
    Object.fromEntries([...row.cells].map((cell) => [cell.dataset.column, {
      exact: cell.dataset.value, text: cell.innerText,
      titles: [...cell.querySelectorAll("[title]")].map((node) => node.title),
      gone: cell.querySelector("[data-gone]")?.dataset.gone, came: cell.querySelector("[data-came]")?.dataset.came,
    }]))), table);
}

const count = (number) => ({ exact: String(number), shown: thousands(number) });
const text = (value) => ({ exact: escaped(value) });
const size = (number) => ({ exact: String(number), title: `${thousands(number)} byte${number === 1 ? "" : "s"}` });
const unknown = { exact: "", shown: "not computed" };

// Compares a table with the expected rows: `{ column: { exact, shown, title, gone, came } }`.
async function compareTable(page, check, table, expected) {
  if (expected.length === 0) {
    check(`${table} is left out`, await page.locator(`#${table}`).count() === 0);
    return;
  }
  if (await page.locator(`#${table}`).count() === 0) {
    check(`${table} is shown`, false);
    return;
  }
  await showAll(page, table);
  const rows = await readRows(page, table);
  check(`${table} has all rows`, rows.length === expected.length, `${rows.length} of ${expected.length}`);
  expected.forEach((columns, index) => {
    for (const [column, wanted] of Object.entries(columns)) {
      const cell = rows[index]?.[column];
      const place = `${table}, row ${index + 1}, ${column}`;
      check(`${place}: exact value`, cell?.exact === wanted.exact, `${cell?.exact} is not ${wanted.exact}`);
      if (wanted.shown !== undefined) {
        check(`${place}: text`, cell?.text.includes(wanted.shown), `${cell?.text} has no ${wanted.shown}`);
      }
      if (wanted.title !== undefined) {
        check(`${place}: title`, cell?.titles.includes(wanted.title), `${cell?.titles} is not ${wanted.title}`);
      }
      for (const side of ["gone", "came"].filter((name) => wanted[name] !== undefined)) {
        check(`${place}: ${side}`, cell?.[side] === wanted[side], `${cell?.[side]} is not ${wanted[side]}`);
      }
    }
  });
}

async function checkTiles(page, check, report) {
  const { totals, comparison } = report;
  const expected = new Map(["series", "metrics", "label_names", "label_pairs", "bytes"].map((id) => [id, totals[id]]));
  if (comparison) {
    for (const [id, number] of [["before", comparison.before.series], ["after", comparison.after.series],
      ["same", comparison.same], ["gone", comparison.gone], ["came", comparison.came]]) {
      expected.set(id, number);
    }
  }
  for (const [id, number] of expected) {
    const tile = page.locator(`[data-tile="${id}"]`);
    check(`tile ${id} is shown once`, await tile.count() === 1);
    check(`tile ${id}: exact value`, await tile.getAttribute("data-exact") === String(number));
    check(`tile ${id}: title`, await tile.locator(".figure").getAttribute("title") === thousands(number));
    if (number <= 9999999 && id !== "bytes") {
      check(`tile ${id}: text`, await tile.locator(".figure").innerText() === thousands(number));
    }
  }
}

async function checkSuggestions(page, check, report) {
  const cards = page.locator("[data-suggestion]");
  check("all suggestions are shown", await cards.count() === report.suggestions.length);
  for (const [index, suggestion] of report.suggestions.entries()) {
    const card = cards.nth(index);
    const shown = await card.innerText();
    const hasCommand = suggestion.command !== "";
    const commands = await card.locator("code").count();
    const saysWhy = shown.includes("No single command");
    const isRight = commands === Number(hasCommand) && saysWhy !== hasCommand;
    check(`suggestion ${index + 1}: a command, or why there is none`, isRight);
    const command = hasCommand ? await card.locator("code").innerText() : "";
    const heading = await card.locator("h3").innerText();
    const before = suggestion.removes + suggestion.remains;
    const place = `suggestion ${index + 1}`;
    check(`${place}: removes`, await card.getAttribute("data-removes") === String(suggestion.removes));
    const effect = `${thousands(before)} to ${thousands(suggestion.remains)} series`;
    check(`${place}: effect`, shown.includes(effect), shown);
    check(`${place}: command`, command === escaped(suggestion.command), command);
    const breaks = card.locator("[data-breaks]");
    const broken = suggestion.used_by === null ? null : String(suggestion.used_by.queries);
    const told = await breaks.count() === 0 ? null : await breaks.getAttribute("data-breaks");
    check(`${place}: queries that miss it`, told === broken, `${told} is not ${broken}`);
    for (const query of (suggestion.used_by?.places ?? []).slice(0, 3).filter((name) => name.length < 90)) {
      check(`${place}: names the query ${query}`, shown.includes(escaped(query)), shown);
    }
    const names = suggestion.action === "drop-metric" ? [suggestion.metric] : suggestion.labels;
    for (const name of names.filter((name) => name !== null && name !== "" && name.length < 90)) {
      check(`${place}: names ${name}`, heading.includes(escaped(name)), heading);
    }
  }
}

// Checks the section of queries.
async function checkUsage(page, check, report, compare) {
  const unused = page.locator("[data-unused]");
  check("queries have a section only if they are given", await unused.count() === Number(report.usage !== null));
  if (report.usage === null) {
    return;
  }
  const { used, unused: sums, unread, unused_metrics: metrics } = report.usage;
  check("series of unused metrics", await unused.getAttribute("data-unused") === String(sums.series));
  check("used and unused series are all", used.series + sums.series === report.totals.series);
  await compare("unused-table", metrics.map((metric) => ({
    metric: text(metric.metric), series: count(metric.series), text_bytes: size(metric.text_bytes),
    recorded_by: text(metric.recorded_by),
  })));
  check("queries that were not read", await page.locator("#unread li").count() === unread.length);
}

export async function checkFigures(page, check, report) {
  const embedded = await page.evaluate(() => document.getElementById("report").textContent);
  check("the embedded data equals the JSON", isDeepStrictEqual(JSON.parse(embedded), report));
  await checkTiles(page, check, report);
  const skipped = page.locator("#skipped");
  check("skipped files are named", await skipped.count() === Math.min(report.skipped.length, 1));
  for (const name of report.skipped) {
    check(`skipped file ${name}`, (await skipped.textContent()).includes(escaped(name)));
  }
  await checkGenerated(page, check, report.comparison?.without_generated);
  const explosions = report.comparison?.explosions ?? [];
  check("explosions are told", await page.locator("[data-explosion]").count() === explosions.length);
  for (const [index, { label, series, values_before: before, values_after: after }] of explosions.entries()) {
    const told = page.locator("[data-explosion]").nth(index);
    const text = await told.innerText();
    check(`explosion of ${label}: series`, await told.getAttribute("data-series") === String(series));
    check(`explosion of ${label}: values`, text.includes(`${thousands(before)} to ${thousands(after)} value`), text);
  }
  if (report.totals.series > 0) {
    await checkSuggestions(page, check, report);
  }
  const compare = (table, rows) => compareTable(page, check, table, rows);
  await checkUsage(page, check, report, compare);
  await compare("labels-table", report.labels.map((label) => ({
    name: text(label.name), values: count(label.values), value_bytes: size(label.value_bytes),
    series: count(label.series), remains: label.remains === null ? unknown : count(label.remains),
    looks: text(label.looks), top: text(label.top.map((item) => `${item.value} ${item.series}`).join("; ")),
    queries: { exact: label.used_by === null ? "" : String(label.used_by.queries) },
  })));
  await compare("metrics-table", report.metrics.map((metric) => ({
    metric: text(metric.metric), type: text(metric.type), unit: text(metric.unit), series: count(metric.series),
    share: { exact: String(metric.series) }, text_bytes: size(metric.text_bytes),
    label: { exact: String(metric.labels[0]?.values ?? 0) },
    queries: { exact: metric.used_by === null ? "" : String(metric.used_by.queries) },
  })));
  await compare("parts-table", report.parts.map((part) => ({ name: text(part.name), bytes: size(part.bytes) })));
  await compare("times-table", (report.series_times?.slots ?? []).map((slot) => ({
    start: text(slot.start), end: text(slot.end), series: count(slot.series), new: count(slot.new),
    gone: count(slot.gone),
  })));
  const churn = report.churn ?? { new: 0, gone: 0 };
  const [pairs, labels] = churn.new + churn.gone > 0 ? [churn.pairs, churn.labels] : [[], []];
  await compare("pairs-table", pairs.map((row) => ({
    pair: text(`${row.name}=${row.value}`), new: count(row.new), gone: count(row.gone), series: count(row.series),
    per_hour: { exact: String(row.changes_per_hour) },
  })));
  await compare("label-churn-table", labels.map((row) => ({
    name: text(row.name), new_values: count(row.new_values), gone_values: count(row.gone_values),
    each: { exact: row.new_values > 0 ? String(row.series_of_new_values / row.new_values) : "" },
    values: count(row.values),
  })));
  await compare("windows-table", report.windows.map((window) => ({
    start: text(window.start), end: text(window.end), blocks: count(window.blocks), bytes: size(window.bytes),
    series: count(window.series), new: count(window.new), gone: count(window.gone),
  })));
  await compare("growth-table", report.growth.map((row) => ({
    metric: text(row.metric), first: count(row.first), last: count(row.last), largest: count(row.largest),
  })));
  await compare("blocks-table", report.blocks.length < 2 ? [] : report.blocks.map((block) => ({
    name: text(block.name), start: text(block.start), series: count(block.series), bytes: size(block.bytes),
  })));
  await compare("changes-table", (report.comparison?.metrics ?? []).map((row) => ({
    metric: text(row.metric), before: count(row.before), after: count(row.after), gone: count(row.gone),
    came: count(row.came),
  })));
  await compare("churn-table", (report.comparison?.labels ?? []).map((row) => ({
    name: text(row.name), values_gone: count(row.values_gone), values_came: count(row.values_came),
    ...(row.gone_without === null ? { effect: unknown } : { effect: {
      ...{ exact: String(effectShare(row, report.comparison)) },
      shown: `without it, ${thousands(row.gone_without)} gone and ${thousands(row.came_without)} came`,
      gone: String(row.gone_without), came: String(row.came_without),
    } }),
  })));
}

async function checkGenerated(page, check, generated) {
  const shown = page.locator("#without-generated");
  if (generated === null || generated === undefined) {
    check("nothing is said of generated labels", await shown.count() === 0);
    return;
  }
  const said = await shown.textContent();
  const effect = `${thousands(generated.gone)} are gone and ${thousands(generated.came)} came`;
  check("changes without generated labels", said.includes(effect), said);
  for (const label of generated.labels) {
    check(`changes without generated labels: ${label}`, said.includes(escaped(label)), said);
  }
}

function effectShare(row, { gone, came }) {
  const changes = gone + came;
  return changes === 0 ? 0 : (changes - row.gone_without - row.came_without) / changes;
}
