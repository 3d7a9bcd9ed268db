// Writes a picture of the top of a report page: node screenshot.mjs page.html picture.png
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { startBrowser } from "./browser.mjs";

const [page, picture] = process.argv.slice(2);
if (picture === undefined) {
  console.error("usage: node screenshot.mjs page.html picture.png");
  process.exit(2);
}
const browser = await startBrowser();
const tab = await browser.newPage({ viewport: { width: 1200, height: 1180 }, colorScheme: "light" });
await tab.goto(pathToFileURL(resolve(page)).href);
await tab.screenshot({ path: picture });
await browser.close();
