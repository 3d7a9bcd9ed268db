// Checks accessibility and width, and writes screenshots and a print.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];
const WIDTHS = [360, 900, 1440];
const AUDITED = [360, 1440];
const SCHEMES = ["light", "dark"];

// The page's policy allows no other script in the page; the debugger's evaluation is not bound by it.
async function audit(page, check, place) {
  await page.evaluate(AXE);
  const result = await page.evaluate((rules) => globalThis.axe.run(document, {
    runOnly: { type: "tag", values: rules }, resultTypes: ["violations"],
  }), RULES);
  check(`accessibility, ${place}: rules ran`, result.passes.length > 10, `${result.passes.length} rules`);
  for (const violation of result.violations) {
    const nodes = violation.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`);
    check(`accessibility, ${place}: ${violation.id}`, false, nodes.join(" | ").replace(/\s+/g, " "));
  }
  check(`accessibility, ${place}`, result.violations.length === 0);
}

// Waits for two frames: sizes are observed in the first, and the treemap is drawn again for the second.
const settle = (page) => page.evaluate(() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(done));
}));

async function checkStructure(page, check) {
  const found = await page.evaluate(() => ({
    headings: document.querySelectorAll("h1").length,
    sections: [...document.querySelectorAll("main section")].every((node) => node.querySelectorAll("h2").length === 1),
    captions: [...document.querySelectorAll("table")].every((node) => node.caption !== null),
    landmarks: ["header", "main", "footer"].every((tag) => document.querySelectorAll(`body > ${tag}`).length === 1),
    language: document.documentElement.lang,
  }));
  check("one heading of the first level", found.headings === 1);
  check("a heading for each section", found.sections);
  check("a caption for each table", found.captions);
  check("header, main and footer", found.landmarks);
  check("the language is set", found.language === "en");
}

// Checks that a print has all rows and no controls, and writes it.
async function checkPrint(page, check, report, folder) {
  await page.evaluate(() => {
    addEventListener("beforeprint", () => {
      globalThis.printed = document.querySelectorAll("#metrics-table tbody tr[data-row]").length;
    });
  });
  await page.emulateMedia({ colorScheme: "light" });
  await page.pdf({ path: join(folder, "print.pdf"), preferCSSPageSize: true, printBackground: true });
  const rows = await page.evaluate(() => globalThis.printed);
  check("print shows all metrics", rows === report.metrics.length, `${rows} of ${report.metrics.length}`);
  await page.emulateMedia({ media: "print" });
  const visible = await page.evaluate(() => [...document.querySelectorAll(".more, .copy, .tools, nav")]
    .filter((node) => getComputedStyle(node).display !== "none").length);
  check("print has no controls", visible === 0, `${visible} visible`);
}

// Checks that a narrow screen shows what matters without scrolling sideways, and does not break names inside words.
async function checkNarrow(page, check, place) {
  const found = await page.evaluate(() => {
    const isSeen = (table, column) => [...document.querySelectorAll(`#${table} th[data-column="${column}"]`)]
      .every((node) => node.getBoundingClientRect().right <= innerWidth);
    const rows = (node) => new Set([...node.getClientRects()].map((area) => Math.round(area.top))).size;
    const broken = [];
    const names = [...document.querySelectorAll("tbody .wide .name")].flatMap((node) => [...node.childNodes]);
    const isEdge = (node) => node === null || node.nodeName === "WBR";
    const isWord = (part) => part.nodeType === Node.TEXT_NODE && isEdge(part.previousSibling) && isEdge(part.nextSibling);
    for (const node of names.filter((part) => isWord(part) && part.length <= 12)) {
      const range = document.createRange();
      range.selectNodeContents(node);
      if (!/\s/u.test(node.data) && rows(range) > 1) {
        broken.push(node.data);
      }
    }
    const empty = [...document.querySelectorAll("table")].flatMap((table) => [...table.tHead.rows[0].cells]
      .filter((head) => head.offsetWidth > 0 && table.tBodies[0].querySelector("[data-row]") !== null
        && [...table.tBodies[0].querySelectorAll(`[data-column="${head.dataset.column}"]`)]
          .every((cell) => cell.dataset.value === "" && cell.innerText.trim() === ""))
      .map((head) => head.dataset.column));
    return { remains: isSeen("labels-table", "remains"), series: isSeen("metrics-table", "series"), broken, empty };
  });
  check(`series without a label are seen, ${place}`, found.remains);
  check(`series of metrics are seen, ${place}`, found.series);
  check(`no name is broken inside a word, ${place}`, found.broken.length === 0, found.broken.join(", "));
  check(`no column is empty, ${place}`, found.empty.length === 0, found.empty.join(", "));
}

// Checks that a bar has the meaning of its table and card: the part that remains.
async function checkBars(page, check, report) {
  const widths = await page.evaluate(() => [...document.querySelectorAll(`[data-column="remains"] .fill, .card .fill`)]
    .map((fill) => fill.getBoundingClientRect().width / fill.parentElement.getBoundingClientRect().width));
  const cards = report.suggestions.map((row) => row.remains / (row.remains + row.removes));
  const rows = report.labels.slice(0, 25).filter((row) => row.remains !== null)
    .map((row) => row.remains / report.totals.series);
  const wanted = [...cards, ...rows];
  check("each bar is the part that remains", widths.length === wanted.length
    && widths.every((width, index) => Math.abs(width - wanted[index]) < 0.02), `${widths} are not ${wanted}`);
}

// Checks the narrowest width in the first scheme and the widest in the last, or all widths in all schemes.
export async function checkAppearance(page, check, report, folder, isThorough) {
  await checkStructure(page, check);
  await checkBars(page, check, report);
  for (const width of isThorough ? WIDTHS : AUDITED) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of isThorough ? SCHEMES : [SCHEMES[AUDITED.indexOf(width)]]) {
      await page.emulateMedia({ colorScheme });
      await settle(page);
      const place = `${width} ${colorScheme}`;
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(`no horizontal overflow, ${place}`, wide <= 0, `${wide} pixels`);
      await page.screenshot({ path: join(folder, `${width}-${colorScheme}.png`), fullPage: true });
      if (width === WIDTHS[0]) {
        await checkNarrow(page, check, place);
      }
      if (AUDITED.includes(width)) {
        await audit(page, check, place);
      }
    }
  }
  if (report.metrics.length > 0) {
    await page.locator("#metrics-table [data-metric]").first().click();
    await settle(page);
    await audit(page, check, "selected metric");
    await page.screenshot({ path: join(folder, "selected.png") });
    await page.keyboard.press("Escape");
  }
  await checkPrint(page, check, report, folder);
}
