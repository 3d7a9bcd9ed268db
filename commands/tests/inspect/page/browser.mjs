// Starts Chromium and opens the page with everything that goes wrong recorded.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
// Milliseconds until a missing element fails a check.
const TIMEOUT = 10000;
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

function executable() {
  if (process.env.CHROMIUM) {
    return process.env.CHROMIUM;
  }
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (!found) {
    throw new Error(`no browser found: install one of ${NAMES.join(", ")}, or set CHROMIUM to its path`);
  }
  return found;
}

export function startBrowser() {
  return chromium.launch({ executablePath: executable(), args: FLAGS });
}

// Waits until the page is built, and its treemap is drawn, which waits until its size is known.
export async function untilDrawn(page) {
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  if (await page.locator(".area").count() > 0) {
    await page.locator(".area > .cell").first().waitFor({ state: "attached" });
  }
}

// Opens the page. `problems` collects console messages, page errors, dialogs, policy violations and requests.
export async function openPage(browser, address, options, problems) {
  const context = await browser.newContext(options);
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url.startsWith("file://")) {
      return route.continue();
    }
    problems.push(`request to ${url}`);
    return route.abort();
  });
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("file://") && !request.url().startsWith("data:")) {
      problems.push(`request to ${request.url()}`);
    }
  });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      globalThis.violations.push(`${event.violatedDirective}: ${event.blockedURI}`);
    });
  });
  await page.goto(address);
  await untilDrawn(page);
  return page;
}

// Closes the page after a last look for policy violations.
export async function closePage(page, problems) {
  problems.push(...(await page.evaluate(() => globalThis.violations)).map((text) => `policy violation: ${text}`));
  await page.context().close();
}
