// What every page has to pass. Each check returns what is wrong, in words; nothing where all is well.

import axe from "axe-core";
import { open, unfold } from "./tab.mjs";

/** Widths at which pages are looked at, px: a phone, a tablet, a projector. */
const WIDTHS = [360, 820, 1920];
const THEMES = /** @type {const} */ (["light", "dark"]);
/** Standards of which nothing may be broken seriously. */
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * @typedef {object} Looked
 * @property {string} name
 * @property {string} url
 * @property {string[]} [says] words that are seen on it, as they stand here
 * @property {boolean} [pictures] whether pictures of it are kept for the eye
 */

/**
 * The page with and without its script: no error, no request, the words that it must show.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 */
export async function opens(browser, of) {
  const wrong = [];
  for (const script of [true, false]) {
    const tab = await open(browser, of.url, { script });
    await unfold(tab.page);
    const seen = await tab.page.evaluate(() => `${document.title}\n${document.body.innerText}`);
    const missing = (of.says ?? []).filter((words) => !seen.includes(words));
    const told = [...tab.wrong, ...missing.map((words) => `does not show ${words}`)];
    if (seen.trim().length < 40) told.push("shows nothing");
    wrong.push(...told.map((what) => `${script ? "with" : "without"} script: ${what}`));
    await tab.close();
  }
  return wrong;
}

/**
 * No text or part is out of reach: axe's serious and critical findings, in both themes.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 */
export async function isAccessible(browser, of) {
  const wrong = [];
  for (const theme of THEMES) {
    const tab = await open(browser, of.url, { theme });
    await unfold(tab.page);
    await tab.page.evaluate(axe.source);
    // In the second theme only colours can differ.
    /** @type {import("axe-core").RunOptions["runOnly"]} */
    const rules = theme === "light" ? STANDARDS : { type: "rule", values: ["color-contrast"] };
    const found = await tab.page.evaluate(
      async (runOnly) => {
        const results = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
        const heavy = results.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
        return heavy.map((one) => {
          const at = one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? ""})`);
          return `${one.impact}: ${one.help}, ${one.nodes.length} times: ${at.join(" | ")}`;
        });
      },
      rules,
    );
    wrong.push(...found.map((what) => `${theme}: ${what}`));
    await tab.close();
  }
  return wrong;
}

/**
 * A narrow window scrolls down and never across, whatever is unfolded.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 */
export async function fitsNarrow(browser, of) {
  const tab = await open(browser, of.url, { width: 360 });
  await unfold(tab.page);
  const wide = await tab.page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const isOut = (/** @type {Element} */ one) => one.getBoundingClientRect().right > room + 1;
    const out = [...document.body.querySelectorAll("*")].filter((one) => isOut(one) && !one.closest(".scroll, pre, svg"));
    return [`${document.documentElement.scrollWidth} px wide`, ...out.slice(0, 3).map((one) => one.outerHTML.slice(0, 160))];
  });
  await tab.close();
  return wide.length > 0 ? [`scrolls across at 360 px: ${wide.join(" | ")}`] : [];
}

/**
 * It prints. Returns the pages of paper too.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 * @param {string} [file] where the PDF is kept
 */
export async function prints(browser, of, file) {
  const tab = await open(browser, of.url);
  const pdf = await tab.page.pdf({ format: "A4", printBackground: true, path: file });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  const wrong = pages > 0 ? [...tab.wrong] : [...tab.wrong, "its PDF has no page"];
  await tab.close();
  return { pages, wrong };
}

/**
 * Pictures of the whole page for the eye.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 * @param {string} folder
 */
export async function photograph(browser, of, folder) {
  for (const theme of THEMES) {
    const tab = await open(browser, of.url, { theme });
    for (const width of WIDTHS) {
      await tab.page.setViewportSize({ width, height: 900 });
      await tab.page.screenshot({ path: `${folder}/${of.name}-${width}-${theme}.png`, fullPage: true });
    }
    await tab.close();
  }
}
