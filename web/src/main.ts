// What the pages' script does. The page is complete without it: it adds what paper cannot have.

import { Charts } from "./charts.js";
import { Cursor } from "./cursor.js";
import { addFolding } from "./folding.js";
import style from "./page.css";
import { addSaving } from "./saving.js";
import { addTables } from "./tables.js";
import { addThemes, applyKeptTheme } from "./theme.js";
import { addZoom } from "./zoom.js";

// Before anything is drawn, so that nothing flashes.
applyKeptTheme();

document.addEventListener("DOMContentLoaded", () => {
  const own = document.createElement("style");
  own.textContent = style;
  document.head.append(own);
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", "How this page is shown");
  addFolding(tools);
  addThemes(tools);
  document.body.prepend(tools);
  addTables();
  addSaving();
  const charts = new Charts();
  if (charts.all.size > 0) addZoom(charts, new Cursor(charts));
  performance.mark("kdyno-ready");
});
