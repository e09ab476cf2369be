import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { accessToken, me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const PASSWORD = "correct horse battery";

describe("the tokens of the account", () => {
  it("of the owner are those of machines, and none of a user", async () => {
    server.on("GET /tokens", {
      items: [accessToken("nightly", { user: null, scope: "submit" }), accessToken("laptop")],
    });
    openApp(server, "/account");
    const table = within(await screen.findByTestId("tokens"));
    expect(table.getByText("nightly")).toBeVisible();
    expect(table.queryByText("laptop")).toBeNull();
    const scopes = within(screen.getByLabelText("Scope")).getAllByRole("option");
    expect(scopes.map((each) => each.getAttribute("value"))).toEqual(["read", "submit", "operate", "admin"]);
  });

  it("are revoked only while they are valid", async () => {
    server.on("GET /me", me("researcher")).on("GET /tokens", {
      items: [
        accessToken("old", { expires_at: "2026-03-01T10:00:00Z" }),
        accessToken("lost", { revoked_at: "2026-03-01T10:00:00Z" }),
        accessToken("", { id: "tok_unnamed00000001" }),
      ],
    });
    const { user } = openApp(server, "/account");
    expect(await screen.findByText("expired")).toBeVisible();
    const unnamed = screen.getByRole("row", { name: /no label/ });
    expect(within(unnamed).getByText("never")).toBeVisible();
    expect(screen.getAllByTestId("revoke-token")).toHaveLength(1);
    await user.click(within(unnamed).getByTestId("revoke-token"));
    expect(await screen.findByText(/^Revoke the token without a label\?/)).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Keep it" }));
    expect(server.askedFor("POST /tokens/*/revoke")).toEqual([]);
  });

  it("stay in the list where the server does not revoke one", async () => {
    server.on("GET /me", me("researcher")).on("GET /tokens", { items: [accessToken("laptop")] });
    server.on("POST /tokens/*/revoke", new Refusal(409, "it is revoked already"));
    const { user } = openApp(server, "/account");
    await user.click(await screen.findByTestId("revoke-token"));
    await user.click(await screen.findByTestId("revoke-token-confirm"));
    expect(await screen.findByTestId("error")).toHaveTextContent(
      "The token could not be revoked. it is revoked already",
    );
    expect(screen.getByText("laptop")).toBeVisible();
  });

  it("that cannot be listed do not keep from making one", async () => {
    server.on("GET /me", me("viewer")).on("GET /tokens", new Refusal(404, "no such list"));
    server.on("POST /tokens", { ...accessToken("phone"), token: "hooke_token_phone" });
    const { user } = openApp(server, "/account");
    expect(await screen.findByTestId("error")).toHaveTextContent("The tokens could not be loaded.");
    await user.type(screen.getByTestId("token-label"), "phone{Enter}");
    expect(await screen.findByTestId("new-token")).toHaveTextContent("hooke_token_phone");
    expect(screen.getByTestId("token-label")).toHaveValue("");
  });
});

describe("a new token", () => {
  it("needs a label that the server takes, and a number of days", async () => {
    server.on("GET /me", me("researcher")).on("GET /tokens", { items: [] });
    const { user } = openApp(server, "/account");
    const label = await screen.findByTestId("token-label");
    expect(screen.getByTestId("create-token")).toBeDisabled();
    await user.type(label, "-ci");
    expect(screen.getByText(/^Letters, digits, space/)).toBeVisible();
    await user.clear(label);
    await user.type(label, "ci");
    expect(screen.getByTestId("create-token")).toBeEnabled();
    await user.clear(screen.getByLabelText("Valid for, days"));
    expect(screen.getByTestId("create-token")).toBeDisabled();
  });

  it("may be of a machine where an administrator makes it", async () => {
    server.on("GET /me", me("admin")).on("GET /tokens", { items: [] });
    server.on("POST /tokens", new Refusal(422, "the label is taken"));
    const { user } = openApp(server, "/account");
    await user.type(await screen.findByTestId("token-label"), "ci");
    await user.click(screen.getByLabelText("For a machine"));
    await user.click(screen.getByTestId("create-token"));
    expect(await screen.findByTestId("error")).toHaveTextContent(
      "The token could not be created. the label is taken",
    );
    expect(screen.getByTestId("token-label")).toHaveValue("ci");
    expect(server.askedFor("POST /tokens")[0]?.body).toMatchObject({ machine: true });
  });
});

describe("one's own password", () => {
  it("is not changed with a wrong present one, and what was typed stays", async () => {
    server.on("GET /me", me("viewer")).on("GET /tokens", { items: [] });
    server.on("PUT /me/password", new Refusal(403, "the current password is wrong"));
    const { user } = openApp(server, "/account");
    await user.type(await screen.findByTestId("current-password"), "wrong");
    await user.type(screen.getByTestId("new-password"), "short");
    await user.type(screen.getByTestId("new-password-again"), "short");
    expect(screen.getByTestId("change-password")).toBeDisabled();
    for (const field of ["new-password", "new-password-again"]) {
      await user.clear(screen.getByTestId(field));
      await user.type(screen.getByTestId(field), PASSWORD);
    }
    await user.click(screen.getByTestId("change-password"));
    expect(await screen.findByTestId("error")).toHaveTextContent("the current password is wrong");
    expect(screen.getByTestId("new-password")).toHaveValue(PASSWORD);
    expect(screen.queryByText(/Password changed/)).toBeNull();
  });

  it("is not changed by who came with a token", async () => {
    server.on("GET /me", me("viewer", { credential: "token" })).on("GET /tokens", { items: [] });
    openApp(server, "/account");
    expect(await screen.findByTestId("owner-note")).toHaveTextContent("signed in with the token");
    await waitFor(() => expect(document.title).toBe("Account · Hooke"));
    expect(screen.queryByTestId("password-part")).toBeNull();
  });
});
