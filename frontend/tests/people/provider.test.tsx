import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { browser } from "@/lib/people/browser";
import { openApp } from "../support/app";
import { identity, me } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const PROVIDER = { name: "the institute", problem: null };
const AWAY = "the institute does not answer as it should: try again in a minute.";
const AT_PROVIDER = "https://idp.example.org/authorize?state=x";

/** jsdom cannot leave its page: what would be loaded. */
function navigation() {
  return vi.spyOn(browser, "load").mockImplementation(() => undefined);
}

describe("the sign-in page", () => {
  it("offers no provider where there is none", async () => {
    openApp(server, "/sign-in");
    await screen.findByTestId("sign-in");
    await waitFor(() => expect(server.askedFor("GET /oidc")).toHaveLength(1));
    expect(screen.queryByTestId("provider")).toBeNull();
    expect(screen.queryByTestId("provider-problem")).toBeNull();
  });

  it("leads to the provider, and says where to come back", async () => {
    const load = navigation();
    server.on("GET /oidc", PROVIDER).on("POST /oidc/start", { address: AT_PROVIDER });
    const { user: person } = openApp(server, "/sign-in?next=%2Fclusters");
    await person.click(await screen.findByRole("button", { name: "Sign in with the institute" }));
    await waitFor(() => expect(load).toHaveBeenCalledWith(AT_PROVIDER));
    expect(server.askedFor("POST /oidc/start")[0]?.body).toEqual({ next: "/clusters", again: false });
    expect(server.askedFor("GET /me")).toEqual([]);
  });

  it("does not pass on another server's address", async () => {
    navigation();
    server.on("GET /oidc", PROVIDER).on("POST /oidc/start", { address: AT_PROVIDER });
    const { user: person } = openApp(server, "/sign-in?next=%2F%2Fevil.example");
    await person.click(await screen.findByTestId("provider"));
    await waitFor(() => expect(server.askedFor("POST /oidc/start")[0]?.body).toMatchObject({ next: "/" }));
  });

  it("says what went wrong in the server's words, and lets the provider ask again", async () => {
    navigation();
    server.on("GET /oidc", ({ query }) => ({ ...PROVIDER, problem: `because of ${query.get("problem")}` }));
    server.on("POST /oidc/start", { address: AT_PROVIDER });
    const { user: person } = openApp(server, "/sign-in?problem=rule");
    expect(await screen.findByTestId("provider-problem")).toHaveTextContent(
      "You are not signed inbecause of rule",
    );
    expect(screen.getByTestId("password")).toBeEnabled();
    await person.click(screen.getByTestId("provider"));
    await waitFor(() => expect(server.askedFor("POST /oidc/start")[0]?.body).toMatchObject({ again: true }));
  });

  it("says that the provider is away, and keeps the password's way open", async () => {
    const load = navigation();
    server.on("GET /oidc", PROVIDER).on("POST /oidc/start", new Refusal(503, AWAY));
    server.on("POST /sign-in", me("researcher"));
    const { user: person } = openApp(server, "/sign-in");
    await person.click(await screen.findByTestId("provider"));
    expect(await screen.findByTestId("error")).toHaveTextContent(AWAY);
    expect(screen.getByTestId("provider")).toBeEnabled();
    await person.type(screen.getByTestId("name"), "ana");
    await person.type(screen.getByTestId("password"), "correct horse battery");
    await person.click(screen.getByTestId("sign-in"));
    await waitFor(() => expect(load).toHaveBeenCalledWith("/"));
  });

  it("signs in with a password also if nobody knows whether there is a provider", async () => {
    server.on("GET /oidc", new Refusal(404, "an older server"));
    openApp(server, "/sign-in");
    expect(await screen.findByTestId("sign-in")).toBeVisible();
    expect(screen.queryByTestId("provider")).toBeNull();
  });
});

describe("an invitation", () => {
  it("is accepted with an account at the provider instead of a password", async () => {
    const load = navigation();
    server.on("GET /oidc", PROVIDER).on("POST /oidc/start", { address: AT_PROVIDER });
    const { user: person } = openApp(server, "/invite#hooke_invite_x");
    await person.click(await screen.findByRole("button", { name: "Accept with the institute" }));
    await waitFor(() => expect(load).toHaveBeenCalledWith(AT_PROVIDER));
    expect(server.askedFor("POST /oidc/start")[0]?.body).toEqual({ invite: "hooke_invite_x" });
  });
});

describe("the account", () => {
  beforeEach(() => {
    server.on("GET /me", me("researcher")).on("GET /tokens", { items: [] });
  });

  it("shows nothing of providers where there are none", async () => {
    openApp(server, "/account");
    expect(await screen.findByTestId("password-part")).toBeVisible();
    await waitFor(() => expect(server.askedFor("GET /oidc")).toHaveLength(1));
    expect(screen.queryByTestId("identities-part")).toBeNull();
  });

  it("links an account", async () => {
    const load = navigation();
    server.on("GET /oidc", PROVIDER).on("POST /me/identities/link", { address: AT_PROVIDER });
    const { user: person } = openApp(server, "/account");
    await person.click(await screen.findByRole("button", { name: "Link an account at the institute" }));
    await waitFor(() => expect(load).toHaveBeenCalledWith(AT_PROVIDER));
    expect(screen.queryByTestId("identities")).toBeNull();
  });

  it("says why an account was not linked", async () => {
    server.on("GET /oidc", ({ query }) => ({ ...PROVIDER, problem: query.get("problem") }));
    server.on("POST /me/identities/link", new Refusal(503, AWAY));
    const { user: person } = openApp(server, "/account?problem=taken");
    expect(await screen.findByTestId("provider-problem")).toHaveTextContent(
      "The account could not be linkedtaken",
    );
    await person.click(screen.getByTestId("link-identity"));
    expect(await screen.findByTestId("error")).toHaveTextContent(`The account could not be linked. ${AWAY}`);
  });

  it("unlinks an account after asking, and the list follows", async () => {
    server.on("GET /oidc", PROVIDER).on("DELETE /me/identities/*", {});
    server.on("GET /me/identities", { items: [identity("idn_1")], has_password: true });
    const { user: person } = openApp(server, "/account");
    const table = within(await screen.findByTestId("identities"));
    expect(table.getByText("ana@example.org")).toBeVisible();
    expect(table.getByText("never")).toBeVisible();
    server.on("GET /me/identities", { items: [], has_password: true });
    await person.click(table.getByTestId("unlink-identity"));
    await person.click(await screen.findByTestId("unlink-identity-confirm"));
    await waitFor(() => expect(screen.queryByTestId("identities")).toBeNull());
    expect(server.askedFor("DELETE /me/identities/*")[0]?.path).toBe("/api/v1/me/identities/idn_1");
  });

  it("does not unlink the last way in, and has no password to change there", async () => {
    server.on("GET /me/identities", {
      items: [identity("idn_1", { last_way: true, usable: false })],
      has_password: false,
    });
    openApp(server, "/account");
    const refused = await screen.findByRole("group", { name: /You have no password/ });
    expect(within(refused).getByTestId("unlink-identity")).toBeDisabled();
    expect(screen.getByText(/no longer the provider of this server/)).toBeVisible();
    expect(screen.queryByTestId("password-part")).toBeNull();
    expect(screen.queryByTestId("link-identity")).toBeNull();
  });

  it("says why an account was not unlinked, or not listed", async () => {
    server.on("GET /me/identities", { items: [identity("idn_1")], has_password: true });
    server.on("DELETE /me/identities/*", new Refusal(409, "without it you could not sign in"));
    const { user: person } = openApp(server, "/account");
    await person.click(await screen.findByTestId("unlink-identity"));
    await person.click(await screen.findByTestId("unlink-identity-confirm"));
    expect(await screen.findByTestId("error")).toHaveTextContent("could not sign in");
    expect(screen.getByTestId("identities")).toBeVisible();
  });

  it("still changes the password if the accounts cannot be listed", async () => {
    server.on("GET /me/identities", new Refusal(404, "an older server"));
    openApp(server, "/account");
    expect(await screen.findByText(/Your accounts could not be loaded/)).toBeVisible();
    expect(screen.getByTestId("password-part")).toBeVisible();
  });
});
