/** Every table leaves as CSV, Markdown and LaTeX: it stands in a TableRegion, or is one of these. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const SOURCES = join(import.meta.dirname, "../../src");
/** Forms that are laid out as tables; legends and unseen copies of charts, which leave with their chart. */
const OTHERS = new Set(["search-spaces.tsx", "variants-section.tsx", "legend-table.tsx", "trade-offs.tsx"]);
const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".tsx") && !OTHERS.has(name.split("/").at(-1) ?? ""))
  .map((name) => [name, readFileSync(join(SOURCES, name), "utf8")] as const)
  .filter(([, text]) => /<table\b/.test(text));

it.each(files)("%s", (_, text) => {
  const count = (pattern: RegExp) => [...text.matchAll(pattern)].length;
  expect(count(/<TableRegion\b/g)).toBeGreaterThanOrEqual(count(/<table\b/g));
});
