/** What the linter refuses: features import lib, lib neither them nor the app, and one component draws with uPlot. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const CASES: readonly [place: string, from: string, refused: boolean][] = [
  ["src/lib/one/a.ts", "@/features/run/search", true],
  ["src/lib/one/b.ts", "../../features/run/search", true],
  ["src/lib/c.ts", "../features/run/search", true],
  ["src/lib/one/d.ts", "../../app/router", true],
  ["src/lib/one/e.ts", "../two/a", false],
  ["src/features/one/f.ts", "../run/search", true],
  ["src/features/one/g.ts", "@/features/run/search", true],
  ["src/features/one/h.ts", "./search", false],
  ["src/features/one/i.ts", "uplot", true],
  ["src/lib/charts/j.ts", "uplot", true],
  ["src/app/k.ts", "uplot", true],
  ["src/app/l.ts", "@/features/run/search", false],
  ["src/lib/charts/line-chart.tsx", "uplot", false],
  ["src/lib/charts/plot-type.ts", "../../features/run/search", true],
];

/** What Biome says, with the rules of the dashboard, of files that have one import each. */
function lint(folder: string): string {
  copyFileSync(join(ROOT, "biome.json"), join(folder, "biome.json"));
  for (const [place, from] of CASES) {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    writeFileSync(join(folder, place), `import { a } from "${from}";\n\nexport const b = a;\n`);
  }
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  const asked = [biome, "lint", "--only=style/noRestrictedImports", "--max-diagnostics=none", "."];
  const { stdout, stderr } = spawnSync(process.execPath, asked, { cwd: folder, encoding: "utf8" });
  return stdout + stderr;
}

describe("the linter", () => {
  const folder = mkdtempSync(join(tmpdir(), "hooke-lint-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const said = lint(folder);

  it.each(CASES)("of %s with an import of %s: refuses %s", (place, _, refused) => {
    expect(said.includes(`${place}:1:`), said).toBe(refused);
  });
});
