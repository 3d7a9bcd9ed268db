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

// Checks the narrowest width in the first scheme and the widest in the last, or all widths in all schemes.
export async function checkAppearance(page, check, report, folder, isThorough) {
  await checkStructure(page, check);
  for (const width of isThorough ? WIDTHS : AUDITED) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of isThorough ? SCHEMES : [SCHEMES[AUDITED.indexOf(width)]]) {
      await page.emulateMedia({ colorScheme });
      await settle(page);
      const place = `${width} ${colorScheme}`;
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      check(`no horizontal overflow, ${place}`, wide <= 0, `${wide} pixels`);
      await page.screenshot({ path: join(folder, `${width}-${colorScheme}.png`), fullPage: true });
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
