// Looks at pages in the system's Chromium: `node pages.mjs JOB.json`. Ends with 1 when something is wrong with one of them,
// and says what on standard output.

import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";
import { lookAt } from "./checks.mjs";

/**
 * @typedef {object} Job
 * @property {string} chromium the program
 * @property {string} folder where pictures and PDFs go
 * @property {import("./checks.mjs").Looked[]} pages
 */

/** @type {Job} */
const job = JSON.parse(await readFile(process.argv[2] ?? "", "utf8"));
const browser = await chromium.launch({ executablePath: job.chromium });
let wrong = 0;
try {
  for (const of of job.pages) {
    const began = Date.now();
    const found = await lookAt(browser, of, job.folder);
    console.log(`${of.name}: ${found.paper} pages of paper, ${Date.now() - began} ms`);
    for (const what of found.wrong) console.log(`  WRONG ${what}`);
    wrong += found.wrong.length;
  }
} finally {
  await browser.close();
}
process.exitCode = wrong > 0 ? 1 : 0;
