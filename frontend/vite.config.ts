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

/** What a browser loads before any page, by Brotli; bytes. Charts and the editor are no part of it. */
const FIRST_LOAD = 205_000;

/** Ends the build where the first load is larger. */
const budget: Plugin = {
  name: "budget",
  apply: "build",
  closeBundle() {
    const names = [...readFileSync(join(OUT, "index.html"), "utf8").matchAll(/"\/(assets\/[^"]+)"/g)];
    const size = names.reduce((sum, [, name]) => sum + statSync(join(OUT, `${name}.br`)).size, 0);
    if (size > FIRST_LOAD) this.error(`the first load has ${size} bytes; its limit is ${FIRST_LOAD}`);
  },
};

export default defineConfig({
  plugins: [react(), yaml, compressed, budget],
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
