// What every page has to pass.

import axe from "axe-core";
import { open, unfold } from "./tab.mjs";

/** Widths at which pages are looked at, px: a phone, a tablet, a projector. */
const WIDTHS = [360, 820, 1920];
/** Of long pages the top is enough: what follows are more trials. In px² of a picture. */
const AREA_MAX = 9e6;
const THEMES = /** @type {const} */ (["light", "dark"]);
/** Standards of which nothing may be broken seriously. */
const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * @typedef {object} Looked
 * @property {string} name
 * @property {string} url
 * @property {string[]} says words that are seen on it, as they stand here
 * @property {boolean} pictures whether pictures of it are kept for the eye
 * @property {boolean} first whether the chart that answers its question is on its first screen
 *
 * @typedef {object} Found
 * @property {string[]} wrong in words; nothing where all is well
 * @property {number} paper pages when it is printed
 */

/**
 * Everything that a page has to pass.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {Looked} of
 * @param {string} folder for its pictures and its PDF
 * @returns {Promise<Found>}
 */
export async function lookAt(browser, of, folder) {
  const tab = await open(browser, of.url);
  if (of.pictures) await photograph(tab.page, `${folder}/${of.name}`);
  const paper = await pagesOfPaper(tab.page, `${folder}/${of.name}.pdf`);
  const before = [...(of.first ? await isBelowTheScreen(tab.page) : []), ...(await isLostOnPaper(tab.page))];
  await unfold(tab.page);
  const wrong = [
    ...before,
    ...(await saysTooLittle(tab.page, of)),
    ...(await lacksData(tab.page, ["Save as CSV", "Save as SVG"])),
    ...(await isOutOfReach(tab.page)),
    ...(await cutsTheList(tab.page)),
    ...(await scrollsAcross(tab.page)),
    ...tab.wrong,
  ];
  await tab.close();
  if (paper === 0) wrong.push("its PDF has no page");

  const bare = await open(browser, of.url, { script: false });
  await unfold(bare.page);
  const without = [
    ...(await saysTooLittle(bare.page, of)),
    ...(await lacksData(bare.page, [])),
    ...(await scrollsAcross(bare.page)),
    ...bare.wrong,
  ];
  await bare.close();
  return { wrong: [...wrong, ...without.map((what) => `without script: ${what}`)], paper };
}

/**
 * The words that must be seen, and that there are some at all.
 *
 * @param {import("playwright-core").Page} page
 * @param {Looked} of
 */
async function saysTooLittle(page, of) {
  const seen = await page.evaluate(() => document.body.innerText);
  const missing = of.says.filter((words) => !seen.includes(words)).map((words) => `does not show ${words}`);
  return seen.trim().length < 40 ? [...missing, "shows nothing"] : missing;
}

/**
 * A laptop's screen shows question, answer, caveats, tiles and the first chart.
 *
 * @param {import("playwright-core").Page} page
 */
async function isBelowTheScreen(page) {
  const screen = { width: 1280, height: 800 };
  await page.setViewportSize(screen);
  const ends = await page.evaluate(() => {
    const plots = [...document.querySelectorAll("#first-chart svg.plot")];
    const bottoms = plots.map((one) => one.getBoundingClientRect().bottom + window.scrollY);
    return bottoms.length === 0 ? null : Math.max(...bottoms);
  });
  if (ends === null) return ["has no first chart"];
  return ends > screen.height ? [`its first chart ends at ${Math.round(ends)} px`] : [];
}

/**
 * On paper nothing that is folded up is lost, but for the data of figures, and no background is dark.
 *
 * @param {import("playwright-core").Page} page
 */
async function isLostOnPaper(page) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const wrong = await page.evaluate(() => {
    const folded = [...document.querySelectorAll("details:not([open], .data)")];
    const lost = folded.filter((one) => {
      const content = [...one.children].find((child) => child.tagName !== "SUMMARY");
      return content !== undefined && one.getBoundingClientRect().height > 0 && !content.checkVisibility({ contentVisibilityAuto: false });
    });
    const paper = getComputedStyle(document.body).backgroundColor;
    return [
      ...lost.map((one) => `on paper it lacks ${one.querySelector("summary")?.textContent?.slice(0, 60) ?? "a part"}`),
      ...(paper === "rgb(255, 255, 255)" ? [] : [`its paper is ${paper}`]),
    ];
  });
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
  return wrong;
}

/**
 * Figures without a title, a table of their data, or one of these buttons.
 *
 * @param {import("playwright-core").Page} page
 * @param {string[]} buttons what they are called begins so
 */
async function lacksData(page, buttons) {
  return page.evaluate((buttons) => [...document.querySelectorAll("figure")].flatMap((figure) => {
    const title = figure.querySelector("figcaption")?.textContent ?? "";
    const rows = figure.querySelectorAll("details.data tbody tr").length;
    const missing = buttons.filter((name) => figure.querySelector(`button[aria-label^="${name}: "]`) === null);
    const lacks = [...(title === "" ? ["a title"] : []), ...(rows === 0 ? ["a table of its data"] : []), ...missing];
    return lacks.map((what) => `figure ${figure.id || title} lacks ${what}`);
  }), buttons);
}

/**
 * Texts and parts that somebody cannot reach: axe's serious and critical findings, in both themes.
 *
 * @param {import("playwright-core").Page} page
 */
async function isOutOfReach(page) {
  await page.evaluate(axe.source);
  const wrong = [];
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    // In the second theme only colours can differ.
    /** @type {import("axe-core").RunOptions["runOnly"]} */
    const rules = theme === "light" ? STANDARDS : { type: "rule", values: ["color-contrast"] };
    const found = await page.evaluate(async (runOnly) => {
      const results = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
      const heavy = results.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
      return heavy.map((one) => {
        const at = one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} (${node.any[0]?.message ?? ""})`);
        return `${one.impact}: ${one.help}, ${one.nodes.length} times: ${at.join(" | ")}`;
      });
    }, rules);
    wrong.push(...found.map((what) => `${theme}: ${what}`));
  }
  return wrong;
}

/**
 * The list of runs is seen whole in a window of 1,000 px.
 *
 * @param {import("playwright-core").Page} page
 */
async function cutsTheList(page) {
  await page.setViewportSize({ width: 1000, height: 800 });
  const wide = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".scroll:has(> table.runs)")];
    return boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.scrollWidth);
  });
  return wide.map((px) => `its list takes ${px} px of a window of 1000`);
}

/**
 * A narrow window scrolls down and never across, whatever is unfolded.
 *
 * @param {import("playwright-core").Page} page
 */
async function scrollsAcross(page) {
  await page.setViewportSize({ width: 360, height: 900 });
  const wide = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const isOut = (/** @type {Element} */ one) => one.getBoundingClientRect().right > room + 1;
    const out = [...document.body.querySelectorAll("*")].filter((one) => isOut(one) && !one.closest(".scroll, pre"));
    return [`${document.documentElement.scrollWidth} px wide`, ...out.slice(-3).map((one) => one.outerHTML.slice(0, 160))];
  });
  return wide.length > 0 ? [`scrolls across at 360 px: ${wide.join(" | ")}`] : [];
}

/**
 * @param {import("playwright-core").Page} page
 * @param {string} file
 */
async function pagesOfPaper(page, file) {
  const pdf = await page.pdf({ format: "A4", printBackground: true, path: file });
  return pdf.toString("latin1").match(/\/Type\s*\/Page\b/gu)?.length ?? 0;
}

/**
 * Pictures of the page for the eye.
 *
 * @param {import("playwright-core").Page} page
 * @param {string} file without width, theme and ending
 */
async function photograph(page, file) {
  const before = page.viewportSize() ?? { width: 1280, height: 900 };
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ ...before, width });
      const whole = await page.evaluate(() => document.documentElement.scrollHeight);
      await page.setViewportSize({ width, height: Math.min(whole, Math.floor(AREA_MAX / width)) });
      await page.screenshot({ path: `${file}-${width}-${theme}.jpeg`, quality: 85 });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}
