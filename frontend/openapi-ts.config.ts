import { defineConfig } from "@hey-api/openapi-ts";

export default defineConfig({
  input: process.env.HOOKE_OPENAPI ?? "../api/openapi.json",
  output: { path: process.env.HOOKE_CLIENT ?? "src/lib/client" },
  parser: { filters: { tags: { exclude: ["agents"] } } }, // what agents and supervisors say is not the browser's business
  plugins: [
    "@hey-api/client-fetch",
    { name: "@hey-api/typescript", enums: false },
    "@hey-api/sdk",
    { name: "@tanstack/react-query", queryOptions: true, infiniteQueryOptions: false, mutationOptions: true },
  ],
});
