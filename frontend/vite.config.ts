import { fileURLToPath } from "node:url";
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

export default defineConfig({
  plugins: [react(), yaml],
  resolve: {
    alias: {
      "@examples": fileURLToPath(new URL("../examples", import.meta.url)),
      "@": fileURLToPath(new URL("./src", import.meta.url)),
    },
  },
  build: {
    outDir: "../api/hooke_api/dashboard",
    emptyOutDir: true,
    sourcemap: false,
    chunkSizeWarningLimit: 600, // kB; React, Mantine and the router are one cached chunk
  },
  server: { fs: { allow: [".."] }, proxy: { "/api": api, "/login": api } },
  test: {
    isolate: false,
    testTimeout: 20_000, // on a busy machine
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
