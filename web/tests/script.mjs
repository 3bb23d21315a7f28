// What the script adds to a page, tried in the system's Chromium: `node script.mjs JOB.json`. Ends with 1 at the first thing
// that is not as it should be.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { open, unfold } from "./tab.mjs";

/** Bytes that the script may have, compressed. */
const COMPRESSED_MAX = 60_000;

/**
 * @typedef {object} Job
 * @property {string} chromium the program
 * @property {string} folder where pictures go
 * @property {string} run address of a page with trials over time
 * @property {string} long address of the page of a ten-minute run
 */

/** @type {Job} */
const job = JSON.parse(await readFile(process.argv[2] ?? "", "utf8"));
const browser = await chromium.launch({ executablePath: job.chromium });

/**
 * A fresh tab of the run's page, unfolded.
 *
 * @param {import("./tab.mjs").How} [how]
 */
async function tab(how) {
  const one = await open(browser, job.run, how);
  await unfold(one.page);
  return one;
}

/**
 * What cursors are at, in seconds, of all charts in sight; those without a cursor as `null`.
 *
 * @param {import("playwright-core").Page} page
 */
function cursors(page) {
  return page.evaluate(() => {
    const isSeen = (/** @type {Element} */ one) => {
      const box = one.getBoundingClientRect();
      return box.bottom > 4 && box.top < innerHeight - 4 && box.height > 0;
    };
    const charts = [...document.querySelectorAll("[data-time] svg.plot")].filter(isSeen);
    return charts.map((svg) => {
      const [from = 0, to = 0] = (svg.closest("[data-time]")?.getAttribute("data-time") ?? "").split(" ").map(Number);
      const line = svg.querySelector("line.cursor");
      if (line === null || getComputedStyle(line).display === "none") return null;
      return from + (Number.parseFloat(line.getAttribute("x1") ?? "") / 100) * (to - from);
    });
  });
}

/**
 * What a figure's button saves. In a tab of its own: what follows the first file of a tab the browser may hold back, where it is
 * quicker than its own note that somebody clicked.
 *
 * @param {string} figure its id
 * @param {"CSV" | "SVG"} what
 */
async function saved(figure, what) {
  const { page, wrong, close } = await tab({ theme: "dark" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  const button = page.locator(`figure#${figure}`).getByRole("button", { name: `Save as ${what}` });
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const found = { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  assert.deepEqual([await paper(), wrong], [before, []]);
  await close();
  return found;
}

/**
 * The fields of CSV, row by row.
 *
 * @param {string} text
 */
function fields(text) {
  const rows = text.split("\r\n");
  assert.equal(rows.pop(), "");
  const unquoted = (/** @type {string} */ field) => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
  return rows.map((row) => [...row.matchAll(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,"]*)(?=,|$)/gu)].map(([field]) => unquoted(field)));
}

const TRIES = {
  async "the cursor stands at one instant in all charts, and leaves them again"() {
    const { page, wrong, close } = await tab();
    const chart = page.locator("figure[id^='trial-1-time'] svg.plot").first();
    await chart.scrollIntoViewIfNeeded();
    await chart.hover({ position: { x: 300, y: 60 } });
    await page.waitForFunction(() => document.querySelectorAll("line.cursor").length > 1);
    const found = await cursors(page);
    assert.ok(found.length > 2, `${found.length} charts in sight`);
    for (const at of found) assert.ok(at !== null && Math.abs(at - (found[0] ?? 0)) < 0.05, `${found}`);
    await page.mouse.move(2, 2);
    await page.waitForFunction(() => document.querySelector(".readout:not([hidden])") === null);
    assert.deepEqual(new Set(await cursors(page)), new Set([null]));
    assert.deepEqual(wrong, []);
    await close();
  },

  async "the cursor tells what the figure's table tells, as exactly as the picture does"() {
    const { page, close } = await tab();
    const figure = page.locator("figure[id^='trial-1-time']");
    const chart = figure.locator("svg.plot").first();
    await chart.scrollIntoViewIfNeeded();
    let told = "";
    for (const x of [210, 420, 700]) {
      await chart.hover({ position: { x, y: 60 } });
      const before = told;
      await page.waitForFunction((before) => {
        const now = document.querySelector("figure[id^='trial-1-time'] .readout")?.textContent ?? "";
        return now !== "" && now !== before;
      }, before);
      told = await figure.locator(".readout").first().innerText();
      const found = /^([\d.]+) s consumed ≈ ([\d,]+)$/u.exec(told);
      assert.ok(found, told);
      const number = (/** @type {string | undefined} */ text) => Number(text?.replaceAll(",", ""));
      const rows = await figure.locator("details.data tbody tr").evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent ?? "")));
      // A count stands in the middle of its second.
      const second = Math.floor(Number(found[1]));
      const row = rows.find((cells) => Number(cells[0]) === second);
      const highest = number((await chart.getAttribute("data-values"))?.split(" ")[2]);
      const off = Math.abs(number(found[2]) - number(row?.[1]));
      assert.ok(off <= highest / 120, `${told} and ${row}`);
    }
    await close();
  },

  async "times at the cursor have two digits, whatever their unit"() {
    const { page, close } = await tab();
    const figure = page.locator("figure[id^='trial-1-time']");
    const chart = figure.locator("svg.plot[data-values^='log']").first();
    await chart.scrollIntoViewIfNeeded();
    const heads = await figure.locator("details.data thead th").allTextContents();
    const column = heads.findIndex((head) => head.includes("max"));
    const rows = await figure.locator("details.data tbody tr").evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent ?? "")));
    const [from = 0, to = 0] = ((await figure.getAttribute("data-time")) ?? "").split(" ").map(Number);
    const width = (await chart.boundingBox())?.width ?? 0;
    const nanos = (/** @type {string} */ text) => {
      const [, number, unit] = /([\d.,]+) (ns|µs|ms|s)/u.exec(text) ?? [];
      const factor = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit ?? ""];
      return factor === undefined ? undefined : Number(number?.replaceAll(",", "")) * factor;
    };
    let compared = 0;
    for (const row of rows) {
      const [second, value] = [Number(row[0]), nanos(row[column] ?? "")];
      if (value === undefined) continue;
      await chart.hover({ position: { x: ((second + 0.5 - from) / (to - from)) * width, y: 60 } });
      await page.waitForFunction((second) => [...document.querySelectorAll("figure[id^='trial-1-time'] .readout")]
        .some((one) => Math.floor(Number.parseFloat(one.textContent ?? "")) === second), second);
      const told = (await figure.locator(".readout").allInnerTexts()).join(" ");
      const near = nanos(/max ≈ ([\d.,]+ (?:ns|µs|ms|s))/u.exec(told)?.[1] ?? "");
      // Two digits, and half a pixel of a logarithmic axis.
      assert.ok(near !== undefined && Math.abs(near / value - 1) < 0.07, `${told} and ${row}`);
      compared += 1;
    }
    assert.ok(compared > 3, `${heads}: ${rows[0]}`);
    await close();
  },

  async "arrow keys move the cursor, and what it is at is said"() {
    const { page, close } = await tab();
    const chart = page.locator("[data-time] svg[tabindex='0']").first();
    await chart.focus();
    await page.keyboard.press("Shift+ArrowRight");
    const said = page.getByRole("status");
    await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent !== "");
    const first = await said.textContent();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((before) => document.querySelector("[role=status]")?.textContent !== before, first);
    const [from, to] = [first, await said.textContent()].map((text) => Number.parseFloat(text ?? ""));
    assert.ok(from !== undefined && to !== undefined && to > from, `${from} to ${to}`);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".readout:not([hidden])") === null);
    await close();
  },

  async "a stretch that is dragged over is shown alone by all charts, until all of the time is"() {
    const { page, wrong, close } = await tab();
    const figure = page.locator("figure[id^='trial-1-time']");
    const chart = figure.locator("svg.plot").first();
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    assert.ok(box);
    const to = (/** @type {number} */ share) => page.mouse.move(box.x + share * box.width, box.y + 60);
    const views = () => page.locator("[data-time] svg.lines").evaluateAll((plots) => plots.map((one) => one.getAttribute("viewBox")));
    const before = await views();
    await to(0.25);
    await page.mouse.down();
    await to(0.4);
    await to(0.5);
    await page.mouse.up();
    const all = page.getByRole("button", { name: "Show all of the time" });
    await all.waitFor();
    for (const view of await views()) {
      const [from, , width] = (view ?? "").split(" ").map(Number);
      assert.ok(from !== undefined && width !== undefined && from > 200 && from + width < 560, view ?? "");
    }
    // The cursor is where the mouse is, and tells that instant: half of the time.
    const [first = 0, last = 0] = ((await figure.getAttribute("data-time")) ?? "").split(" ").map(Number);
    await to(0.999);
    await page.waitForFunction(([middle, near]) => {
      const told = document.querySelector("figure[id^='trial-1-time'] .readout")?.textContent ?? "";
      return Math.abs(Number.parseFloat(told) - (middle ?? 0)) < (near ?? 0);
    }, [(first + last) / 2, (last - first) / 100]);
    await page.screenshot({ path: `${job.folder}/zoomed.png` });
    await all.click();
    assert.deepEqual(await views(), before);
    assert.ok(await all.isHidden());
    assert.deepEqual(wrong, []);
    await close();
  },

  async "a column is sorted by its numbers, by mouse and by keyboard, and back"() {
    const { page, wrong, close } = await tab();
    const table = page.locator("figure[id^='trial-1-time'] details.data table");
    const head = table.locator("thead th").nth(0);
    const column = async () => (await table.locator("tbody th").allTextContents()).map(Number);
    const before = await column();
    assert.ok(before.length > 11, `${before}`);
    const up = [...before].sort((a, b) => a - b);
    await head.getByRole("button").click();
    assert.deepEqual([await column(), await head.getAttribute("aria-sort")], [up, "ascending"]);
    await head.getByRole("button").press("Enter");
    assert.deepEqual([await column(), await head.getAttribute("aria-sort")], [[...up].reverse(), "descending"]);
    await head.getByRole("button").press("Enter");
    assert.deepEqual([await column(), await head.getAttribute("aria-sort")], [before, null]);
    // The Tab key leads from one head to the next, and what has no value stands last in either order.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const next = table.locator("thead th").nth(1);
    assert.equal(await next.getAttribute("aria-sort"), "ascending");
    assert.deepEqual(wrong, []);
    await close();
  },

  async "figures with signs, brackets and units of their own sort by what they tell"() {
    const { page, close } = await tab();
    const table = page.locator("section[aria-labelledby='trials'] table").first();
    const cells = ["1.40 s", "~ 12.3 ms", "–", "! 2.14 (2.13–2.14) ms"];
    await table.locator("tbody tr").evaluateAll((rows, texts) => {
      rows.forEach((row, index) => (row.querySelectorAll("th, td")[3] ?? row).textContent = texts[index] ?? "");
    }, cells);
    await table.locator("thead th").nth(3).getByRole("button").click();
    const sorted = await table.locator("tbody tr").evaluateAll((rows) =>
      rows.map((row) => row.querySelectorAll("th, td")[3]?.textContent));
    assert.deepEqual(sorted, ["! 2.14 (2.13–2.14) ms", "~ 12.3 ms", "1.40 s", "–"]);
    await close();
  },

  async "a table is copied as it stands, with tabs"() {
    const { page, wrong, close } = await tab({ copies: true });
    const place = page.locator("details.data").first();
    await place.getByRole("button", { name: /^Copy/u }).click();
    await place.getByRole("button", { name: /^Copied/u }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const shown = await place.locator("tr").evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => (cell.textContent ?? "").trim()).join("\t")));
    assert.equal(copied, `${shown.join("\n")}\n`);
    assert.deepEqual(wrong, []);
    await close();
  },

  async "the data of a figure are saved as CSV, and its picture as SVG that needs nothing else"() {
    const { page, close } = await tab();
    for (const id of ["trial-1-time", "trial-1-heat-1", "trial-1-resources-0"]) {
      const figure = page.locator(`figure#${id}`);
      const title = await figure.getAttribute("aria-label") ?? "";
      const [csv, svg] = [await saved(id, "CSV"), await saved(id, "SVG")];
      assert.deepEqual([csv.name, svg.name], [`${id}.csv`, `${id}.svg`]);
      const shown = await figure.locator("details.data tr").evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => (cell.textContent ?? "").replace("–", ""))));
      const isNumber = (/** @type {string} */ cell) => /^[-−]?[\d,]+(\.\d+)?$/u.test(cell);
      const wanted = shown.map((row) => row.map((cell) => isNumber(cell) ? cell.replaceAll(",", "").replace("−", "-") : cell));
      assert.ok(shown.length > 4, `${id}: ${shown.length} rows`);
      assert.deepEqual(fields(csv.text), wanted);
      const found = await page.evaluate((text) => {
        const file = new DOMParser().parseFromString(text, "image/svg+xml");
        const texts = [...file.querySelectorAll("text")].map((one) => one.textContent);
        return {
          isBroken: file.querySelector("parsererror") !== null, name: file.documentElement.querySelector("title")?.textContent, texts,
          paper: file.querySelector("rect")?.getAttribute("fill"), lines: file.querySelectorAll("path[stroke], path[fill]").length,
        };
      }, svg.text);
      assert.ok(!found.isBroken && found.lines > 0, svg.text);
      assert.equal(found.name, title);
      assert.ok(title !== "" && found.texts.includes(title), `${title}: ${found.texts}`);
      const [unit = ""] = await figure.locator(".panel-name span").allTextContents();
      assert.ok(unit !== "" && found.texts.includes(unit), `${unit}: ${found.texts}`);
      assert.equal(found.paper, "rgb(255, 255, 255)", "it is light, whatever the page is");
      for (const own of ["class=", "style=", "var(", "url(", "href"]) assert.ok(!svg.text.includes(own), `${own} in ${svg.text}`);
      await writeFile(`${job.folder}/${svg.name}`, svg.text);
    }
    await close();
  },

  async "the chosen colours are kept"() {
    const { page, wrong, close } = await tab();
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByLabel("Colours").selectOption("dark");
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.reload();
    assert.deepEqual([await paper(), await page.getByLabel("Colours").inputValue()], [dark, "dark"]);
    // Paper is light all the same.
    await page.emulateMedia({ media: "print" });
    assert.equal(await paper(), light);
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await page.getByLabel("Colours").selectOption("light");
    assert.equal(await paper(), light);
    await page.getByLabel("Colours").selectOption("system");
    assert.equal(await paper(), dark);
    assert.deepEqual(wrong, []);
    await close();
  },

  async "everything is unfolded and folded at once"() {
    const { page, close } = await open(browser, job.run);
    const folded = () => page.evaluate(() => [...document.querySelectorAll("details")].filter((one) => !one.open).length);
    assert.ok((await folded()) > 0);
    await page.getByRole("button", { name: "Unfold all" }).click();
    assert.equal(await folded(), 0);
    await page.getByRole("button", { name: "Fold all" }).click();
    assert.ok((await folded()) > 3);
    await close();
  },
};

/** How large the script is, and how fast the page of a ten-minute run is there, from disk. No time is judged: the host may be busy. */
async function speed() {
  const text = await readFile(new URL(job.long));
  const script = /<script>([\s\S]*?)<\/script>/u.exec(text.toString("utf8"))?.[1] ?? "";
  const compressed = gzipSync(script).length;
  console.log(`script: ${script.length} bytes, ${compressed} compressed; page of ten minutes: ${text.length} bytes`);
  assert.ok(compressed <= COMPRESSED_MAX, `the script has ${compressed} bytes compressed`);
  for (let time = 0; time < 3; time += 1) {
    const { page, wrong, close } = await open(browser, job.long);
    await page.waitForFunction(() => performance.getEntriesByType("paint").length > 0);
    const found = await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
      ready: performance.getEntriesByName("kdyno-ready")[0]?.startTime,
    }));
    console.log(`first paint after ${Math.round(found.paint ?? NaN)} ms, interactive after ${Math.round(found.ready ?? NaN)} ms`);
    assert.deepEqual(wrong, []);
    await close();
  }
}

try {
  for (const [name, attempt] of Object.entries(TRIES)) {
    const began = Date.now();
    await attempt();
    console.log(`ok ${name}, ${Date.now() - began} ms`);
  }
  await speed();
} finally {
  await browser.close();
}
