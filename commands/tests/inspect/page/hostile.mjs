// Checks that text of the report is shown and never run.

const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2065\ufeff]/u;
const MAX_SELECTED = 30;
// Elements that the page never makes.
const FOREIGN = "img, iframe, object, embed, link, base, form, svg script, a[href^='j']";

export async function checkHostile(page, check, report) {
  const found = await page.evaluate((foreign) => {
    const nodes = [...document.querySelectorAll("*")];
    return {
      attacked: globalThis.attacked,
      handlers: nodes.flatMap((node) => node.getAttributeNames().filter((name) => /^on/i.test(name))),
      scripts: document.scripts.length,
      foreign: nodes.filter((node) => node.matches(foreign)).map((node) => node.outerHTML.slice(0, 80)),
      texts: nodes.filter((node) => node.localName !== "script" && node.localName !== "style").flatMap((node) =>
        [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE).map((child) => child.data)),
      titles: nodes.flatMap((node) => ["title", "aria-label"].map((name) => node.getAttribute(name) ?? "")),
      isolated: nodes.filter((node) => node.matches(".name, .long, .help"))
        .every((node) => getComputedStyle(node).unicodeBidi === "isolate"),
      prototype: Object.keys(Object.prototype).length,
    };
  }, FOREIGN);
  check("no script of the report ran", found.attacked === undefined);
  check("no event handler attributes", found.handlers.length === 0, found.handlers.join(" "));
  check("two scripts", found.scripts === 2, `${found.scripts}`);
  check("no foreign elements", found.foreign.length === 0, found.foreign.join(" "));
  check("names and values are isolated", found.isolated);
  check("objects have no new properties", found.prototype === 0);
  const raw = found.texts.find((text) => INVISIBLE.test(text));
  check("no invisible characters in text", raw === undefined, JSON.stringify(raw));
  const title = found.titles.find((text) => INVISIBLE.test(text));
  check("no invisible characters in titles", title === undefined, JSON.stringify(title));
  await checkEscapes(page, check, report);
  await checkNames(page, check, report);
}

// Selects metrics by their names through the fragment, and counts the series of their values.
async function checkNames(page, check, report) {
  for (const metric of report.metrics.slice(0, MAX_SELECTED).filter((other) => other.labels.length > 0)) {
    const fragment = new URLSearchParams([metric.metric === null ? ["unnamed", ""] : ["metric", metric.metric]]);
    await page.evaluate((text) => {
      location.hash = text;
    }, fragment.toString());
    const name = JSON.stringify(metric.metric).slice(0, 60);
    await page.waitForSelector("#filter .chip");
    const series = await page.locator('#values-table td[data-column="series"]').evaluateAll((cells) =>
      cells.reduce((sum, cell) => sum + Number(cell.dataset.value), 0));
    check(`the fragment selects metric ${name}`, series === metric.series, `${series} is not ${metric.series}`);
    await page.keyboard.press("Escape");
  }
}

// Each name of a label or metric with an invisible character must be on the page in escaped form.
async function checkEscapes(page, check, report) {
  const shown = await page.evaluate(() => [...document.querySelectorAll("bdi")].map((node) => node.textContent));
  const names = [...report.labels.map((label) => label.name), ...report.metrics.map((metric) => metric.metric)]
    .filter((name) => name !== null && name !== "" && name.length < 90);
  for (const name of new Set(names)) {
    const escaped = name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
      (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
    check(`shown in escaped form: ${escaped}`, shown.includes(escaped));
  }
}
