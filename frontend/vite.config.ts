import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const api = process.env.HOOKE_API ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../api/hooke_api/dashboard",
    emptyOutDir: true,
    sourcemap: false,
    chunkSizeWarningLimit: 600, // kB; React, Mantine and the router are one cached chunk
  },
  server: { proxy: { "/api": api, "/login": api } },
  test: { environment: "jsdom", include: ["tests/**/*.test.{ts,tsx}"] },
});
