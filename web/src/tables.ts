// Tables that can be sorted by any column, and copied.

import { quantity } from "./quantity.js";

/** Rows of a table's body as they were written: the third click brings that order back. */
interface Sorted {
  readonly body: HTMLTableSectionElement;
  readonly rows: readonly HTMLTableRowElement[];
  /** Heads that sort, with their columns. */
  readonly heads: readonly Head[];
}

interface Head {
  readonly cell: HTMLTableCellElement;
  readonly column: number;
}

const ORDERS = ["ascending", "descending", "none"] as const;
type Order = (typeof ORDERS)[number];

export function addTables(): void {
  for (const table of document.querySelectorAll("table")) {
    addCopying(table);
    addSorting(table);
  }
}

/** The cells of rows by column; one that is wider or higher than one stands in each place that it takes. */
function grid(rows: Iterable<HTMLTableRowElement>): HTMLTableCellElement[][] {
  const places: HTMLTableCellElement[][] = [];
  [...rows].forEach((row, index) => {
    const own = (places[index] ??= []);
    let column = 0;
    for (const cell of row.cells) {
      while (own[column] !== undefined) column += 1;
      for (let down = 0; down < cell.rowSpan; down += 1) {
        const below = (places[index + down] ??= []);
        for (let across = 0; across < cell.colSpan; across += 1) below[column + across] = cell;
      }
      column += cell.colSpan;
    }
  });
  return places.slice(0, [...rows].length);
}

function text(cell: Element | undefined): string {
  return cell?.textContent?.replace(/\s+/gu, " ").trim() ?? "";
}

function addSorting(table: HTMLTableElement): void {
  const [body] = table.tBodies;
  if (table.tHead === null || body === undefined || table.tBodies.length !== 1 || body.rows.length < 2) return;
  // Rows of unequal length have no columns to go by.
  if ([...body.rows].some((row) => [...row.cells].some((cell) => cell.colSpan + cell.rowSpan > 2))) return;
  const last = grid(table.tHead.rows).at(-1) ?? [];
  const heads = last.map((cell, column) => ({ cell, column })).filter(({ cell }) => cell.colSpan === 1 && text(cell) !== "");
  const sorted: Sorted = { body, rows: [...body.rows], heads };
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.cell.childNodes);
    head.cell.append(button);
    button.addEventListener("click", () => sortBy(sorted, head));
  }
}

function sortBy(table: Sorted, { cell, column }: Head): void {
  const before = cell.getAttribute("aria-sort") ?? "none";
  const order: Order = ORDERS[(ORDERS.indexOf(before as Order) + 1) % ORDERS.length] ?? "none";
  for (const head of table.heads) head.cell.removeAttribute("aria-sort");
  if (order !== "none") cell.setAttribute("aria-sort", order);
  table.body.append(...(order === "none" ? table.rows : ordered(table.rows, column, order)));
}

/** By number where most cells of the column show one, else by their text. Empty cells come last. */
function ordered(rows: readonly HTMLTableRowElement[], column: number, order: Order): HTMLTableRowElement[] {
  const sign = order === "descending" ? -1 : 1;
  const keyed = rows.map((row) => ({ row, text: text(row.cells[column]), number: quantity(text(row.cells[column])) }));
  const told = keyed.filter((one) => one.text !== "" && one.text !== "–");
  const byNumber = 2 * told.filter((one) => one.number !== undefined).length > told.length;
  const isLast = (one: (typeof keyed)[number]) => (byNumber ? one.number === undefined : one.text === "" || one.text === "–");
  const compare = (a: (typeof keyed)[number], b: (typeof keyed)[number]) =>
    byNumber ? (a.number ?? 0) - (b.number ?? 0) : a.text.localeCompare(b.text, "en", { numeric: true });
  const sorted = keyed.filter((one) => !isLast(one)).sort((a, b) => sign * compare(a, b));
  return [...sorted, ...keyed.filter(isLast)].map((one) => one.row);
}

/** How long it is told that a table was copied, ms. */
const TOLD_MS = 2000;

function addCopying(table: HTMLTableElement): void {
  const place = table.closest(".scroll");
  if (place === null || table.rows.length < 2) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  const name = place.getAttribute("aria-label") ?? "table";
  const tell = (words: string) => {
    button.textContent = words;
    button.setAttribute("aria-label", `${words}: ${name}`);
  };
  tell("Copy");
  button.addEventListener("click", () => {
    copied(tabSeparated(table)).then(
      () => tell("Copied"),
      () => tell("This browser does not let pages copy"),
    ).finally(() => setTimeout(() => tell("Copy"), TOLD_MS));
  });
  // As wide as the table, so that the button stands at its edge.
  const both = document.createElement("div");
  both.className = "copyable";
  place.replaceWith(both);
  both.append(button, place);
}

/** The table in its order of now, as spreadsheets take it: a line for each row, tabs between cells. */
function tabSeparated(table: HTMLTableElement): string {
  return rowsOf(table).map((row) => `${row.join("\t")}\n`).join("");
}

/** The texts of a table's cells row by row, in its order of now. */
export function rowsOf(table: HTMLTableElement): string[][] {
  const sections = [table.tHead, ...table.tBodies].filter((section) => section !== null);
  return sections.flatMap((section) => grid(section.rows).map((row, index, rows) =>
    // What is wider or higher than one stands where it begins.
    Array.from(row, (cell, column) =>
      cell === row[column - 1] || (index > 0 && cell === rows[index - 1]?.[column]) ? "" : text(cell))));
}

async function copied(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  // Through a proxy without TLS there is no clipboard but that of the older way.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  if (!isDone) throw new Error("refused");
}
