// Follows a run that goes on to its end, from the list of runs: `node live.mjs JOB.json`. Ends with 1 when its page does not
// get there by itself.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { open } from "./tab.mjs";

/** Longest that a run of a few seconds may take on a busy host, ms. */
const PATIENCE_MS = 180_000;
const GOES_ON = "the run goes on";

/** @type {{ chromium: string, list: string }} */
const job = JSON.parse(await readFile(process.argv[2] ?? "", "utf8"));
const browser = await chromium.launch({ executablePath: job.chromium });
try {
  const { page, wrong } = await open(browser, job.list);
  const live = page.locator("tr:has(td.live) th a");
  const end = Date.now() + PATIENCE_MS;
  while ((await live.count()) === 0) {
    assert.ok(Date.now() < end, `no run goes on: ${await page.locator("main").innerText()}`);
    await page.reload();
  }
  await live.click();
  assert.ok((await page.locator("header").innerText()).includes(GOES_ON), await page.locator("header").innerText());
  await page.waitForFunction((words) => !document.body.innerText.includes(words), GOES_ON, { timeout: PATIENCE_MS });
  // The page of the end arrives in parts. What is below the screen is not laid out yet, and has no text that is seen.
  const arrived = (/** @type {string} */ words) => document.querySelector("main")?.textContent?.includes(words);
  await page.waitForFunction(arrived, "Over time", { timeout: PATIENCE_MS });
  assert.deepEqual(wrong, []);
} finally {
  await browser.close();
}
