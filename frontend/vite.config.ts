import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin, Rolldown } from "vite";
import { defineConfig } from "vitest/config";
import { parse } from "yaml";

const api = process.env.HOOKE_API ?? "http://127.0.0.1:7450";

/** YAML files as modules, parsed at build time: the example exists once, in examples/. */
const yaml: Plugin = {
  name: "yaml",
  transform: (text, id) =>
    id.endsWith(".yaml") ? `export default ${JSON.stringify(parse(text))}` : undefined,
};

const OUT = fileURLToPath(new URL("../api/hooke_api/dashboard", import.meta.url));

const sheets = new Map<string, string>();

/** The name of a class on the page: its own, and letters of its sheet. The usual ones end with a line, which compresses badly. */
function scopedName(name: string, file: string): string {
  const path = relative(import.meta.dirname, file.split("?")[0] ?? file);
  const letters = createHash("sha256").update(path).digest("base64url").slice(0, 4);
  const other = sheets.get(letters) ?? path;
  if (other !== path) throw new Error(`${path} and ${other} have the same letters: rename one`);
  sheets.set(letters, path);
  return `_${name}_${letters}`;
}

/** What is text, compressed beside itself: the API sends it so to browsers that accept it. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  closeBundle: () => {
    for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
      const path = join(OUT, name);
      if (!/\.(js|css|svg|html)$/.test(name) || statSync(path).size < 1000) continue;
      const text = readFileSync(path);
      writeFileSync(`${path}.br`, brotliCompressSync(text));
      writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
    }
  },
};

/** What the generated client brings along for streams, and nobody uses: events come by `lib/events`. */
const withoutStream: Plugin = {
  name: "without-stream",
  apply: "build",
  load: (id) =>
    id.endsWith("/lib/client/core/serverSentEvents.gen.ts")
      ? 'export function createSseClient() { throw new Error("Events come by lib/events."); }'
      : undefined,
};

/** The first page, and what a browser may load before it is drawn: bytes by gzip, of scripts, style sheet and page. */
const HOME = "/features/experiments/experiments-screen.tsx";
const FIRST_LOAD = 199_500;
/** The page that has least beside it, and is to stay so. */
const SIGN_IN = "/features/people/sign-in-screen.tsx";
/** What as many pages need is in one file. */
const MOST = 4;

/** Files that import one another in a circle, if there are any. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string | undefined {
  const done = new Set<string>();
  const from = (name: string, path: readonly string[]): string | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name].join(", ");
    if (done.has(name)) return undefined;
    done.add(name);
    for (const next of imports.get(name) ?? []) {
      const found = from(next, [...path, name]);
      if (found) return found;
    }
    return undefined;
  };
  for (const name of imports.keys()) {
    const found = from(name, []);
    if (found) return found;
  }
  return undefined;
}

/** Ends the build where the first load is larger. Menus, dialogs, charts and the editor are no part of it. */
function budget(): Plugin {
  const names = new Set(["index.html"]);
  return {
    name: "budget",
    apply: "build",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const home = files.find((file) => file.type === "chunk" && file.facadeModuleId?.endsWith(HOME));
      if (!home) return this.error(`no file begins with ${HOME}`);
      const circle = circleIn(
        new Map(files.map((file) => [file.fileName, file.type === "chunk" ? file.imports : []])),
      );
      if (circle) return this.error(`files that import one another may begin in the wrong order: ${circle}`);
      const entry = (file: (typeof files)[number]) => file.type === "chunk" && file.isEntry;
      for (const file of files) if (file === home || entry(file)) names.add(file.fileName);
      // a set also visits what is added meanwhile: what those import, and what these import
      for (const name of names) {
        const file = bundle[name];
        for (const each of file?.type === "chunk" ? file.imports : []) names.add(each);
      }
    },
    closeBundle() {
      if (names.size === 1) return; // it has ended with an error, which is to be read
      const page = readFileSync(join(OUT, "index.html"), "utf8");
      for (const [, sheet = ""] of page.matchAll(/"\/(assets\/[^"]+\.css)"/g)) names.add(sheet);
      const sizes = [...names].map((name) => gzipSync(readFileSync(join(OUT, name)), { level: 9 }).length);
      const size = sizes.reduce((sum, each) => sum + each, 0);
      this.info(`the first load has ${size} bytes of at most ${FIRST_LOAD}, in ${names.size} files`);
      if (size > FIRST_LOAD) this.error(`the first load has ${size} bytes; its limit is ${FIRST_LOAD}`);
    },
  };
}

/** Modules that only pass on what is in others, of which but a part is used. */
const PASSES_ON = /@mantine\/(core|hooks)\/esm\/index\.mjs$/;
const NAMED = /import\s*\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;

/** Where the names come from that a module imports. */
function* sourcesOf(code: string): Generator<readonly [name: string, source: string]> {
  for (const [, names = "", source = ""] of code.matchAll(NAMED))
    for (const name of names.split(",")) yield [name.trim().split(/\s+as\s+/)[0] ?? "", source];
}

/** What a module imports, and what that does. Of a module that passes on, those whose names are imported. */
function neededBy(begin: string, context: Rolldown.ChunkingContext): Set<string> {
  const found = new Set([begin]);
  for (const id of found) {
    const info = context.getModuleInfo(id);
    for (const next of info?.importedIds ?? []) {
      if (!PASSES_ON.test(next)) {
        found.add(next);
        continue;
      }
      const files = new Map(sourcesOf(context.getModuleInfo(next)?.code ?? ""));
      for (const [name, source] of sourcesOf(info?.code ?? "")) {
        const file = next.includes(`${source}/`) ? files.get(name) : undefined;
        if (file) found.add(join(dirname(next), file));
      }
    }
  }
  return found;
}

/**
 * Which file a module goes to, besides those of single pages. Many small files are larger than one, as each is compressed by itself, and each is a
 * request: what every page needs is one, what the first page shares with others, and what most pages need. None of these imports one behind it: a module is needed by as many pages as those that import it, or more.
 */
function fileOf(): (id: string, context: Rolldown.ChunkingContext) => string | null {
  let known: Map<string, string> | undefined;
  return (id, context) => {
    known ??= filesOf(context);
    return known.get(id) ?? null;
  };
}

function filesOf(context: Rolldown.ChunkingContext): Map<string, string> {
  const router = fileURLToPath(new URL("./src/app/router.tsx", import.meta.url));
  const pages = context.getModuleInfo(router)?.dynamicallyImportedIds ?? [];
  const count = new Map<string, number>();
  for (const page of pages) for (const id of neededBy(page, context)) count.set(id, (count.get(id) ?? 0) + 1);
  const [first, plain] = [HOME, SIGN_IN].map((name) =>
    neededBy(pages.find((page) => page.endsWith(name)) ?? "", context),
  );
  const files = new Map<string, string>();
  for (const [id, sharing] of count) {
    if (sharing < 2) continue;
    if (first?.has(id)) files.set(id, "shared");
    else if (plain?.has(id)) continue;
    else if (sharing >= MOST) files.set(id, "parts");
  }
  return files;
}

export default defineConfig({
  plugins: [react(), yaml, withoutStream, compressed, budget()],
  resolve: {
    alias: {
      "@docs": fileURLToPath(new URL("../docs", import.meta.url)),
      "@examples": fileURLToPath(new URL("../examples", import.meta.url)),
      "@": fileURLToPath(new URL("./src", import.meta.url)),
    },
  },
  css: { modules: { generateScopedName: scopedName } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    cssCodeSplit: false, // one sheet, loaded with the frame: a page opened while the server is away has its style
    sourcemap: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "frame", tags: ["$initial"], priority: 1 }, // what every page needs
            { name: fileOf(), debugName: "what pages share", includeDependenciesRecursively: false },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 600, // kB; React, Mantine and the router are one cached chunk
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": api, "/login": api } },
  test: {
    isolate: false,
    testTimeout: 120_000, // a limit ends what hangs: on a busy machine tests take ten times as long
    projects: [
      { extends: true, test: { name: "units", environment: "node", include: ["tests/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "components",
          environment: "jsdom",
          include: ["tests/**/*.test.tsx"],
          setupFiles: ["tests/support/setup.ts"],
        },
      },
    ],
  },
});
