// Takes the pictures of the documents: `node pictures.mjs PAGES FOLDER LIST`. PAGES has the pages that `scripts/pictures.sh`
// makes, FOLDER gets the pictures, LIST is the address of the list of runs.

import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { open } from "./tests/tab.mjs";

/** Of a window, px: documents show a picture at most this wide. */
const WIDTH = 1000;

/**
 * @typedef {object} Shot
 * @property {string} name of the picture
 * @property {string} [page] its file; the list of runs without it
 * @property {string} [of] the heading of the part that is shown; the top of the page without it
 * @property {number} height px at most
 */

/** @type {Shot[]} */
const SHOTS = [
  { name: "page", page: "page", height: 800 },
  { name: "health", page: "page", of: "Health", height: 700 },
  { name: "verdict", page: "verdict", of: "Quick look", height: 900 },
  { name: "capacity", page: "capacity", of: "Throughput at an SLA", height: 900 },
  { name: "flame-graph", page: "flame-graph", of: "Flame graphs", height: 700 },
  { name: "document", page: "document", height: 1000 },
  { name: "list", height: 600 },
];

const [pages = "", folder = "", list = ""] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium" });
try {
  for (const shot of SHOTS) {
    const url = shot.page === undefined ? list : pathToFileURL(`${pages}/${shot.page}.html`).href;
    const tab = await open(browser, url, { width: WIDTH });
    await take(tab.page, shot);
    if (tab.wrong.length > 0) throw new Error(`${shot.name}: ${tab.wrong.join("; ")}`);
    await tab.close();
    console.log(`${folder}/${shot.name}.png`);
  }
} finally {
  await browser.close();
}

/**
 * @param {import("playwright-core").Page} page
 * @param {Shot} shot
 */
async function take(page, shot) {
  const path = `${folder}/${shot.name}.png`;
  const part = shot.of === undefined ? page.locator("body") : partOf(page, shot.of);
  await part.evaluate((one) => {
    const parts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main > section"));
    parts.forEach((other) => (other.style.contentVisibility = "visible"));
    one.scrollIntoView();
  });
  const box = await part.boundingBox();
  if (box === null) throw new Error(`${shot.name}: nothing is seen of ${shot.of ?? "the page"}`);
  const scrolled = await page.evaluate(() => scrollY);
  const clip = { x: 0, y: box.y + scrolled, width: WIDTH, height: Math.min(box.height, shot.height) };
  await page.screenshot({ path, clip, fullPage: true });
}

/**
 * The part of a page under a heading, the first of several.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} heading
 */
function partOf(page, heading) {
  return page.locator("main > section", { has: page.locator("h2", { hasText: heading }) }).first();
}
