import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

it.each([
  ["/new", "New experiment"],
  ["/new?extend=exp_7", "Add variants"],
])("at %s, a form that could not be loaded has its heading, too", async (address, title) => {
  server.on("GET /algorithms", CATALOGUE);
  server.on("GET /clusters", { items: [cluster("local")] });
  server.on("GET /workloads", new Refusal(404, "Gone."));
  server.on("GET /experiments/*", new Refusal(404, "Gone."));
  openApp(server, address);
  expect(await screen.findByText(/The form could not be loaded/)).toBeVisible();
  expect(screen.getByRole("heading", { level: 1, name: title })).toBeVisible();
});
