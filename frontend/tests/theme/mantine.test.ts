import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const ROOT = new URL("../..", import.meta.url).pathname;
const MANTINE = join(ROOT, "node_modules/@mantine/core");
const read = (...parts: string[]) => readFileSync(join(...parts), "utf8");
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((found) => found[1] ?? "");

/** The parts of Mantine that the dashboard imports. */
function used(): string[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  const texts = files.filter((name) => name.endsWith(".tsx")).map((name) => read(ROOT, "src", name));
  const lists = texts.flatMap((text) => all(text, /import \{([^}]*)\} from "@mantine\/core"/g));
  const names = lists.flatMap((list) => list.split(",").map((each) => each.trim().split(" as ")[0] ?? ""));
  return [...new Set(names.filter((name) => name && !name.startsWith("type ")))];
}

/** The style sheets of some parts, and of all parts that these are made of, by Mantine's own modules. */
function sheets(names: readonly string[]): Set<string> {
  const index = read(MANTINE, "esm/index.mjs");
  const files = new Set(
    names.map((name) => {
      const from = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "([^"]+)"`).exec(index)?.[1];
      if (!from) throw new Error(`where is ${name}?`);
      return join(MANTINE, "esm", from);
    }),
  );
  const found = new Set<string>();
  for (const file of files) {
    const sheet = /([^/]+)\.module\.mjs$/.exec(file)?.[1];
    if (sheet) found.add(sheet);
    else for (const next of all(read(file), /from "(\.[^"]+)"/g)) files.add(join(dirname(file), next));
  }
  return found;
}

it("the style sheets that are loaded are those of the parts in use, in Mantine's own order", () => {
  const loaded = all(read(ROOT, "src/lib/theme/mantine.css"), /@import "@mantine\/core\/styles\/(.+)\.css"/g);
  const common = ["baseline", "global"]; // the variables are made by MantineProvider
  expect([...loaded].sort()).toEqual([...common, ...sheets(used())].sort());
  const whole = read(MANTINE, "styles.css");
  const places = loaded.map((name) => whole.indexOf(read(MANTINE, "styles", `${name}.css`)));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places[0]).toBe(0);
});
