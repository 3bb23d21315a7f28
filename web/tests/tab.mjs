// A page in a tab of its own, and everything that went wrong in it.

/**
 * @typedef {object} How
 * @property {boolean} [script] whether scripts run; they do unless this is false
 * @property {number} [width] of the window, px
 * @property {"light" | "dark"} [theme] that the system prefers
 * @property {boolean} [copies] whether the page may write to the clipboard
 */

/**
 * Opens a page. What its console, its scripts and its requests do wrong is collected in `wrong`; nothing but the page
 * itself may be asked for.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {string} url
 * @param {How} [how]
 */
export async function open(browser, url, how = {}) {
  const context = await browser.newContext({
    viewport: { width: how.width ?? 1280, height: 900 },
    colorScheme: how.theme ?? "light",
    javaScriptEnabled: how.script ?? true,
    permissions: how.copies ? ["clipboard-read", "clipboard-write"] : [],
  });
  const page = await context.newPage();
  /** @type {string[]} */
  const wrong = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`a script failed: ${error.message}`));
  page.on("dialog", (dialog) => {
    wrong.push(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.isNavigationRequest()) wrong.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return { page, wrong, close: () => context.close() };
}

/**
 * Unfolds everything and has it laid out, below the screen too, so that nothing is left unlooked at.
 *
 * @param {import("playwright-core").Page} page
 */
export async function unfold(page) {
  await page.evaluate(() => {
    document.querySelectorAll("details").forEach((one) => (one.open = true));
    const parts = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("main > section"));
    parts.forEach((part) => (part.style.contentVisibility = "visible"));
  });
}
