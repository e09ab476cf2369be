import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
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
      const entry = (file: (typeof files)[number]) => file.type === "chunk" && file.isEntry;
      for (const file of files) if (file === home || entry(file)) names.add(file.fileName);
      // a set also visits what is added meanwhile: what those import, and what these import
      for (const name of names) {
        const file = bundle[name];
        for (const each of file?.type === "chunk" ? file.imports : []) names.add(each);
      }
    },
    closeBundle() {
      const page = readFileSync(join(OUT, "index.html"), "utf8");
      for (const [, sheet = ""] of page.matchAll(/"\/(assets\/[^"]+\.css)"/g)) names.add(sheet);
      const sizes = [...names].map((name) => gzipSync(readFileSync(join(OUT, name)), { level: 9 }).length);
      const size = sizes.reduce((sum, each) => sum + each, 0);
      this.info(`the first load has ${size} bytes of at most ${FIRST_LOAD}, in ${names.size} files`);
      if (size > FIRST_LOAD) this.error(`the first load has ${size} bytes; its limit is ${FIRST_LOAD}`);
    },
  };
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
  build: {
    outDir: OUT,
    emptyOutDir: true,
    cssCodeSplit: false, // one sheet, loaded with the frame: a page opened while the server is away has its style
    sourcemap: false,
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
