import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { accessToken, me, user } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const SOURCES = join(import.meta.dirname, "../../src");
const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".tsx") && !name.endsWith("load-fault.tsx"),
);

describe("what could not be loaded", () => {
  it("has a way out in every file", () => {
    expect(sources.length).toBeGreaterThan(200);
    for (const name of sources) {
      const text = readFileSync(join(SOURCES, name), "utf8");
      for (const [panel] of text.matchAll(/<ErrorPanel\b[^>]*/g))
        expect(panel, `${name}: use LoadFault, which offers to try again`).not.toMatch(
          /could not be (loaded|read|compared|computed)/,
        );
      expect(text, `${name}: a message that is no panel has none`).not.toMatch(
        /Menu\.Label>[^<]*could not be loaded/,
      );
    }
  });

  it("is asked for again where every part of a screen failed", async () => {
    server.on("GET /me", me("admin"));
    const away = new Refusal(403, "not now");
    for (const part of ["users", "projects", "webhooks", "tokens", "audit"] as const)
      server.on(`GET /${part}`, away);
    const { user: person } = openApp(server, "/administration");
    await waitFor(() => expect(screen.getAllByRole("alert")).toHaveLength(5));
    const panels = screen.getAllByRole("alert");
    for (const panel of panels)
      expect(within(panel).getByRole("button", { name: "Try again" })).toBeVisible();
    server.on("GET /users", { items: [user("ben")] }).on("GET /tokens", { items: [accessToken("laptop")] });
    for (const panel of panels) await person.click(within(panel).getByRole("button", { name: "Try again" }));
    expect(await screen.findByTestId("user-ben")).toBeVisible();
    expect(await screen.findByText("laptop")).toBeVisible();
    await waitFor(() => expect(screen.getAllByRole("alert")).toHaveLength(3));
  });
});
