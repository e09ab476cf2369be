import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { accessToken, entry, me, user } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const PASSWORD = "correct horse battery";
const NONE = { items: [], next_cursor: null };

function openAdministration() {
  server.on("GET /me", me("admin"));
  return openApp(server, "/administration");
}

describe("the administration", () => {
  it("says which of its parts could not be loaded, and shows the others", async () => {
    server.on("GET /users", new Refusal(403, "ana is no administrator any more"));
    server
      .on("GET /tokens", { items: [accessToken("laptop")] })
      .on("GET /audit", new Refusal(403, "nor here"));
    openAdministration();
    expect(await screen.findByText(/The users could not be loaded/)).toBeVisible();
    expect(await screen.findByText(/The audit trail could not be loaded/)).toBeVisible();
    expect(within(await screen.findByTestId("tokens")).getByText("laptop")).toBeVisible();
  });

  it("says why a user was not added, and keeps the name", async () => {
    server
      .on("GET /users", { items: [user("ben")] })
      .on("GET /tokens", NONE)
      .on("GET /audit", NONE);
    server.on("POST /users", new Refusal(409, "there is a user 'ben'"));
    const { user: person } = openAdministration();
    await person.type(await screen.findByTestId("user-name"), "ben");
    await person.click(screen.getByTestId("add-user"));
    expect(await screen.findByTestId("error")).toHaveTextContent(
      "The user could not be added. there is a user 'ben'",
    );
    expect(screen.getByTestId("user-name")).toHaveValue("ben");
    expect(screen.queryByTestId("invite-link")).toBeNull();
  });

  it("enables a user again, and invites one who forgot the password", async () => {
    server.on("GET /tokens", NONE).on("GET /audit", NONE);
    server.on("GET /users", { items: [user("ben", { disabled: true }), user("eva")] });
    server.on("PATCH /users/*", user("ben"));
    server.on("POST /users/*/invite", { user: user("eva"), path: "/invite#hooke_invite_y" });
    const { user: person } = openAdministration();
    const ben = within(await screen.findByTestId("user-ben"));
    expect(ben.queryByTestId("invite")).toBeNull();
    await person.click(ben.getByTestId("enable"));
    await waitFor(() => expect(server.askedFor("PATCH /users/*")[0]?.body).toEqual({ disabled: false }));
    await person.click(within(screen.getByTestId("user-eva")).getByTestId("invite"));
    expect(await screen.findByTestId("invite-link")).toHaveTextContent("Send this address to eva");
    expect(server.askedFor("POST /users/*/invite")[0]?.path).toBe("/api/v1/users/eva/invite");
  });

  it("says why a role was not changed", async () => {
    server
      .on("GET /users", { items: [user("ben")] })
      .on("GET /tokens", NONE)
      .on("GET /audit", NONE);
    server.on("PATCH /users/*", new Refusal(404, "no user is called 'ben'"));
    const { user: person } = openAdministration();
    await person.selectOptions(await screen.findByLabelText("Role of ben"), "admin");
    expect(await within(screen.getByTestId("user-ben")).findByTestId("error")).toHaveTextContent(
      "The change could not be made. no user is called 'ben'",
    );
    expect(screen.getByLabelText("Role of ben")).toHaveValue("researcher");
  });

  it("reads the trail page by page", async () => {
    server.on("GET /users", NONE).on("GET /tokens", NONE);
    server.on("GET /audit", ({ query }) =>
      query.get("cursor")
        ? { items: [entry(1, { actor: "first of all" })], next_cursor: null }
        : { items: [entry(3), entry(2)], next_cursor: "older" },
    );
    const { user: person } = openAdministration();
    await person.click(await screen.findByRole("button", { name: "Load more" }));
    expect(await screen.findByText("first of all")).toBeVisible();
    expect(within(screen.getByTestId("trail")).getAllByRole("row")).toHaveLength(4);
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  });

  it("says that nothing was found", async () => {
    server.on("GET /users", NONE).on("GET /tokens", NONE).on("GET /audit", NONE);
    openAdministration();
    expect(await screen.findByText("No entries match.")).toBeVisible();
    expect(screen.queryByTestId("trail")).toBeNull();
  });
});

describe("the account", () => {
  it("says why a token was neither made nor revoked", async () => {
    server.on("GET /me", me("viewer")).on("GET /tokens", { items: [accessToken("laptop")] });
    server.on("POST /tokens", new Refusal(409, "there are 100 valid tokens"));
    server.on("POST /tokens/*/revoke", new Refusal(404, "you have no such token"));
    const { user: person } = openApp(server, "/account");
    await person.type(await screen.findByTestId("token-label"), "=1");
    expect(screen.getByTestId("create-token")).toBeDisabled();
    await person.clear(screen.getByTestId("token-label"));
    await person.type(screen.getByTestId("token-label"), "ci");
    await person.click(screen.getByTestId("create-token"));
    expect(await screen.findByText(/The token could not be created/)).toBeVisible();
    expect(screen.getByTestId("token-label")).toHaveValue("ci");
    await person.click(screen.getByTestId("revoke-token"));
    await person.click(await screen.findByTestId("revoke-token-confirm"));
    expect(await screen.findByText(/The token could not be revoked/)).toBeVisible();
  });

  it("says why the password was not changed, and keeps what was typed", async () => {
    server.on("GET /me", me("viewer")).on("GET /tokens", NONE);
    server.on("PUT /me/password", new Refusal(422, "this password is not accepted"));
    const { user: person } = openApp(server, "/account");
    for (const field of ["current-password", "new-password", "new-password-again"])
      await person.type(await screen.findByTestId(field), PASSWORD);
    await person.click(screen.getByTestId("change-password"));
    expect(await screen.findByTestId("error")).toHaveTextContent("The password could not be changed.");
    expect(screen.getByTestId("new-password")).toHaveValue(PASSWORD);
  });

  it("makes tokens of machines for the owner, who is no user", async () => {
    server.on("GET /tokens", NONE).on("POST /tokens", { ...accessToken("ci"), token: "hooke_token_x" });
    const { user: person } = openApp(server, "/account");
    await person.type(await screen.findByTestId("token-label"), "ci");
    await person.click(screen.getByTestId("create-token"));
    expect(await screen.findByTestId("new-token")).toHaveTextContent("hooke_token_x");
    expect(server.askedFor("POST /tokens")[0]?.body).toMatchObject({ label: "ci", machine: true });
  });
});

describe("an invitation", () => {
  it("that has been used says so, and keeps the password", async () => {
    server.on("POST /invites/accept", new Refusal(401, "this invitation has been used or has expired"));
    const { user: person } = openApp(server, "/invite#hooke_invite_x");
    await person.type(await screen.findByTestId("new-password"), PASSWORD);
    await person.type(screen.getByTestId("new-password-again"), `${PASSWORD}{Enter}`);
    expect(await screen.findByTestId("error")).toHaveTextContent("has been used or has expired");
    expect(screen.getByTestId("new-password")).toHaveValue(PASSWORD);
  });
});
