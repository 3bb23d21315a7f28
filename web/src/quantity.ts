// Numbers as the pages print them: `59,871/s`, `~ 12.3 ms`, `2.14 (2.13–2.14) ms`, `≥ 1.40 s`, `–`.

/** Signs of marks, and what is at least, below or about so much. */
const BEFORE = "[!~^?'°≥<×≈*\\s]*";
const NUMBER = "([-−+]?\\d[\\d,]*(?:\\.\\d+)?)";
/** An interval or a range in brackets. */
const BRACKET = "(?:\\s*\\([^)]*\\))?";
const UNIT = "\\s*([\\p{L}%/]\\S*)?(?:\\s.*)?";
const QUANTITY = new RegExp(`^${BEFORE}${NUMBER}${BRACKET}${UNIT}$`, "u");

/** By what a number is multiplied so that those of one column can be compared. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4,
};

/** The number that a cell shows; `undefined` where it shows none. */
export function quantity(text: string): number | undefined {
  const found = QUANTITY.exec(text.trim());
  if (found?.[1] === undefined) return undefined;
  const number = Number(found[1].replaceAll(",", "").replace("−", "-"));
  const unit = (found[2] ?? "").replace(/\/(s|min)$/u, "");
  return number * (UNITS[unit] ?? 1);
}

/** With thousands separators and so many decimals. */
export function separated(number: number, decimals: number): string {
  return number.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A time in the unit that reads best, with so many digits. */
export function time(ns: number, digits: number): string {
  const [divisor, unit] = ns < 999.5 ? [1, "ns"] : ns < 999.5e3 ? [1e3, "µs"] : ns < 999.5e6 ? [1e6, "ms"] : [1e9, "s"];
  const number = ns / divisor;
  const last = Math.floor(Math.log10(number)) - digits + 1;
  const [step, decimals] = [10 ** last, Math.max(0, -last)];
  return `${separated(Math.round(number / step) * step, decimals)} ${unit}`;
}
