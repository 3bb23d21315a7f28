// Makes the script of the pages, dist/page.js, and beside it by which words a page allows it to run. Files that would stay as
// they are are not written, so that nothing is built anew for nothing.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const result = await build({
  absWorkingDir: new URL(".", here).pathname,
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  charset: "ascii",
  // Browsers of the last years; without these a page is complete without its script.
  target: ["chrome110", "firefox115", "safari16"],
  loader: { ".css": "text" },
  legalComments: "none",
  metafile: true,
});
// An archive of the program has the licences of crates; a package of npm's in the script would need its own there.
const foreign = Object.keys(result.metafile.inputs).find((path) => path.includes("node_modules/"));
if (foreign !== undefined) throw new Error(`the bundle has a package of npm's, whose licence nobody packs: ${foreign}`);
const script = result.outputFiles[0]?.text.trim() ?? "";
if (script === "" || /<\/script|<!--/iu.test(script)) throw new Error("the bundle cannot stand in a page");
const hash = createHash("sha256").update(script, "utf8").digest("base64");

/**
 * @param {string} name
 * @param {string} text
 */
async function write(name, text) {
  const file = new URL(`dist/${name}`, here);
  const before = await readFile(file, "utf8").catch(() => undefined);
  if (before !== text) await writeFile(file, text);
}

await mkdir(new URL("dist", here), { recursive: true });
await write("page.js", script);
await write("page.csp", `'sha256-${hash}'`);
