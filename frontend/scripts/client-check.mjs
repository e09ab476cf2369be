// Fails where the committed client differs from what api/openapi.json generates.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const COMMITTED = "src/lib/client";

/** Map of relative path to text of every file below a folder. */
function texts(root) {
  const found = new Map();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(relative(root, path), readFileSync(path, "utf8"));
  }
  return found;
}

const fresh = mkdtempSync(join(tmpdir(), "hooke-client-"));
try {
  execFileSync(process.execPath, ["node_modules/@hey-api/openapi-ts/bin/run.js"], {
    env: { ...process.env, HOOKE_CLIENT: fresh },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const expected = texts(fresh);
  const actual = existsSync(COMMITTED) ? texts(COMMITTED) : new Map();
  const paths = new Set([...expected.keys(), ...actual.keys()]);
  const drifted = [...paths].filter((path) => expected.get(path) !== actual.get(path)).sort();
  if (drifted.length > 0) {
    console.error(`The client does not match api/openapi.json: ${drifted.join(", ")}.`);
    console.error("Run `npm run client` and commit src/lib/client.");
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
