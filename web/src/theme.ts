// Light, dark, or as the system prefers it; kept in this browser.
//
// The page's own style has its dark colours in media queries. Those are made to match always or never, so that colours
// stand in one place.

const DARK = "screen and (prefers-color-scheme: dark)";
const KEPT_AS = "kdyno-theme";
const THEMES = { system: "As the system", light: "Light", dark: "Dark" };

type Theme = keyof typeof THEMES;

function isTheme(text: string | null): text is Theme {
  return text !== null && Object.hasOwn(THEMES, text);
}

/** What was chosen here before; a browser may forbid to keep anything. */
function kept(): Theme {
  try {
    const theme = localStorage.getItem(KEPT_AS);
    return isTheme(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEPT_AS, theme);
  } catch {
    // Then it holds until the page is closed.
  }
}

/** The media lists that the system's preference decides. They are told by their text as the page was written. */
let decided: MediaList[] = [];

function mediaOfDark(): MediaList[] {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const media = rules.filter((rule) => rule instanceof CSSMediaRule).map((rule) => rule.media);
  return media.filter((list) => list.mediaText === DARK);
}

/** What the page is shown in. */
let shown: Theme = "system";

function apply(theme: Theme): void {
  shown = theme;
  if (decided.length === 0) decided = mediaOfDark();
  // On paper it is always light.
  const media = { system: DARK, light: "not all", dark: "screen" }[theme];
  for (const list of decided) list.mediaText = media;
  document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
}

/** Does something while the page is light; what is seen of the page stays as it is, since nothing is painted meanwhile. */
export function inLight<T>(work: () => T): T {
  const before = shown;
  apply("light");
  try {
    return work();
  } finally {
    apply(before);
  }
}

export function applyKeptTheme(): void {
  if (kept() !== "system") apply(kept());
}

export function addThemes(tools: HTMLElement): void {
  const label = document.createElement("label");
  const select = document.createElement("select");
  for (const [theme, name] of Object.entries(THEMES)) select.add(new Option(name, theme));
  select.value = kept();
  select.addEventListener("change", () => {
    if (!isTheme(select.value)) return;
    apply(select.value);
    keep(select.value);
  });
  label.append("Colours ", select);
  tools.append(label);
}
