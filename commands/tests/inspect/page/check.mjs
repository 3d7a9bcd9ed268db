// Checks a page of `chronoxide-inspect report` in a browser; see README.md.
import { mkdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { checkAppearance } from "./appearance.mjs";
import { checkBehaviour } from "./behaviour.mjs";
import { closePage, openPage, startBrowser } from "./browser.mjs";
import { checkFigures } from "./figures.mjs";
import { checkHostile } from "./hostile.mjs";

const USAGE = "usage: node check.mjs --page page.html --json report.json --screenshots DIR [--appearance] [--hostile]\n" +
  "    [--thorough]";
const { values: options } = parseArgs({
  options: {
    page: { type: "string" }, json: { type: "string" }, screenshots: { type: "string" }, appearance: { type: "boolean" },
    hostile: { type: "boolean" }, thorough: { type: "boolean" },
  },
});
if (!options.page || !options.json || !options.screenshots) {
  console.error(USAGE);
  process.exit(2);
}

let count = 0;
let failed = 0;

// Counts a check, and prints it if it failed.
function check(name, passed, detail = "") {
  count += 1;
  if (!passed) {
    failed += 1;
    console.log(`failed: ${name}${detail === "" ? "" : `: ${String(detail).slice(0, 400)}`}`);
  }
}

// Runs checks in a page of their own. An exception fails them and leaves the others to run.
async function run(browser, name, checks) {
  const problems = [];
  try {
    const page = await openPage(browser, address, { viewport: { width: 1440, height: 900 } }, problems);
    await checks(page);
    await closePage(page, problems);
  } catch (error) {
    check(`${name} runs to its end`, false, error.stack);
  }
  check(`${name}: no messages, errors, dialogs, violations or requests`, problems.length === 0, problems.join(" | "));
}

const address = pathToFileURL(resolve(options.page)).href;
const report = JSON.parse(readFileSync(options.json, "utf8"));
mkdirSync(options.screenshots, { recursive: true });
const browser = await startBrowser();
await run(browser, "figures", (page) => checkFigures(page, check, report));
await run(browser, "behaviour", (page) => checkBehaviour(page, check, report));
if (options.appearance || options.thorough) {
  await run(browser, "appearance", (page) => checkAppearance(page, check, report, options.screenshots, options.thorough));
}
if (options.hostile) {
  await run(browser, "hostile text", async (page) => {
    await page.evaluate(() => document.querySelectorAll(".more:not([hidden])").forEach((more) => more.click()));
    await checkHostile(page, check, report);
  });
}
await run(browser, "time", async (page) => {
  console.log(`interactive after ${await page.evaluate(() => document.documentElement.dataset.ready)} ms`);
});
await browser.close();
console.log(`${count} checks, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
