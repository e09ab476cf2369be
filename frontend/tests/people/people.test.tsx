import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { browser } from "@/lib/people/browser";
import { openApp } from "../support/app";
import { cluster } from "../support/fixtures/catalogue";
import { accessToken, entry, me, user } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const EMPTY = { items: [], next_cursor: null };
const PASSWORD = "correct horse battery";

/** jsdom cannot leave its page: what would be loaded. */
function navigation() {
  return vi.spyOn(browser, "load").mockImplementation(() => undefined);
}

describe("the sign-in", () => {
  it("sends name and password, and goes on to the page that was asked for", async () => {
    const load = navigation();
    server.on("POST /sign-in", me("researcher"));
    const { user: person } = openApp(server, "/sign-in?next=%2Fclusters");
    expect(await screen.findByTestId("sign-in")).toBeDisabled();
    await person.type(screen.getByTestId("name"), " ana ");
    await person.type(screen.getByTestId("password"), PASSWORD);
    await person.click(screen.getByTestId("sign-in"));
    await waitFor(() => expect(load).toHaveBeenCalledWith("/clusters"));
    expect(server.askedFor("POST /sign-in")[0]?.body).toEqual({ name: "ana", password: PASSWORD });
    expect(screen.queryByRole("navigation", { name: "Main" })).toBeNull();
    expect(server.askedFor("GET /me")).toEqual([]);
  });

  it("says why it was refused, and keeps what was typed", async () => {
    server.on("POST /sign-in", new Refusal(401, "the name or the password is wrong"));
    const { user: person } = openApp(server, "/sign-in");
    await person.type(await screen.findByTestId("name"), "ana");
    await person.type(screen.getByTestId("password"), "wrong{Enter}");
    expect(await screen.findByTestId("error")).toHaveTextContent("the name or the password is wrong");
    expect(screen.getByTestId("name")).toHaveValue("ana");
    expect(screen.getByRole("link", { name: "the start-up token" })).toHaveAttribute("href", "/login");
  });
});

describe("an invitation", () => {
  it("sets a password that was typed twice", async () => {
    const load = navigation();
    server.on("POST /invites/accept", me("researcher"));
    const { user: person } = openApp(server, "/invite#hooke_invite_x");
    await person.type(await screen.findByTestId("new-password"), PASSWORD);
    await person.type(screen.getByTestId("new-password-again"), "another");
    expect(screen.getByText("The two differ")).toBeVisible();
    expect(screen.getByTestId("accept")).toBeDisabled();
    await person.clear(screen.getByTestId("new-password-again"));
    await person.type(screen.getByTestId("new-password-again"), PASSWORD);
    await person.click(screen.getByTestId("accept"));
    await waitFor(() => expect(load).toHaveBeenCalledWith("/"));
    expect(server.askedFor("POST /invites/accept")[0]?.body).toEqual({
      invite: "hooke_invite_x",
      password: PASSWORD,
    });
  });

  it("without its secret is none", async () => {
    openApp(server, "/invite");
    expect(await screen.findByTestId("no-invite")).toBeVisible();
  });
});

describe("the menu", () => {
  it("names the user, leads to the account, and signs out", async () => {
    const load = navigation();
    server.on("GET /me", me("researcher")).on("GET /experiments", EMPTY).on("POST /sign-out", {});
    const { user: person } = openApp(server, "/");
    await person.click(await screen.findByTestId("person"));
    expect(await screen.findByTestId("person-name")).toHaveTextContent("ana, researcher");
    expect(screen.getByRole("menuitem", { name: "Password and tokens" })).toHaveAttribute("href", "/account");
    expect(screen.queryByRole("menuitem", { name: "Administration" })).toBeNull();
    await person.click(screen.getByTestId("sign-out"));
    await waitFor(() => expect(load).toHaveBeenCalledWith("/"));
    expect(server.askedFor("POST /sign-out")).toHaveLength(1);
  });

  it("leads the owner to the administration", async () => {
    server.on("GET /experiments", EMPTY);
    const { user: person } = openApp(server, "/");
    await person.click(await screen.findByTestId("person"));
    expect(await screen.findByTestId("person-name")).toHaveTextContent(
      "owner, signed in with the start-up token",
    );
    expect(screen.getByRole("menuitem", { name: "Administration" })).toHaveAttribute(
      "href",
      "/administration",
    );
  });
});

describe("the account", () => {
  it("changes the password, and shows only tokens of the user", async () => {
    server.on("GET /me", me("admin")).on("PUT /me/password", {});
    server.on("GET /tokens", {
      items: [accessToken("laptop"), accessToken("of ben", { user: "ben" })],
    });
    const { user: person } = openApp(server, "/account");
    const table = within(await screen.findByTestId("tokens"));
    expect(table.getByText("laptop")).toBeVisible();
    expect(table.queryByText("of ben")).toBeNull();
    await person.type(await screen.findByTestId("current-password"), PASSWORD);
    await person.type(screen.getByTestId("new-password"), "another one, longer");
    await person.type(screen.getByTestId("new-password-again"), "another one, longer");
    await person.click(screen.getByTestId("change-password"));
    expect(await screen.findByText(/Password changed/)).toBeVisible();
    expect(screen.getByTestId("current-password")).toHaveValue("");
  });

  it("makes a token within the role, shows it once, and revokes one after asking", async () => {
    server.on("GET /me", me("researcher")).on("GET /tokens", { items: [accessToken("laptop")] });
    server.on("POST /tokens", { ...accessToken("ci"), token: "hooke_token_secret" });
    server.on("POST /tokens/*/revoke", accessToken("laptop", { revoked_at: "2026-03-01T10:00:00Z" }));
    const { user: person } = openApp(server, "/account");
    await person.type(await screen.findByTestId("token-label"), "ci");
    const scopes = within(screen.getByLabelText("Scope")).getAllByRole("option");
    expect(scopes.map((each) => each.getAttribute("value"))).toEqual(["read", "submit"]);
    expect(screen.queryByLabelText("For a machine")).toBeNull();
    await person.selectOptions(screen.getByLabelText("Scope"), "submit");
    await person.click(screen.getByTestId("create-token"));
    expect(await screen.findByTestId("new-token")).toHaveTextContent("hooke_token_secret");
    expect(server.askedFor("POST /tokens")[0]?.body).toEqual({
      label: "ci",
      scope: "submit",
      days: 90,
      machine: false,
    });
    await person.click(screen.getByTestId("revoke-token"));
    await person.click(await screen.findByTestId("revoke-token-confirm"));
    await waitFor(() => expect(server.askedFor("POST /tokens/*/revoke")).toHaveLength(1));
  });

  it("has no password for the owner", async () => {
    server.on("GET /tokens", { items: [] });
    openApp(server, "/account");
    expect(await screen.findByTestId("owner-note")).toHaveTextContent("the start-up token");
    expect(screen.queryByTestId("password-part")).toBeNull();
  });
});

describe("the administration", () => {
  function open() {
    server.on("GET /users", { items: [user("ana", { role: "admin" }), user("ben")] });
    server.on("GET /tokens", { items: [accessToken("hpc", { user: null, scope: "agent:hpc" })] });
    server.on("GET /audit", ({ query }) => ({
      items: [entry(2, { actor: query.get("actor") ?? "ana" }), entry(1, { action: "sign_in_failed" })],
      next_cursor: null,
    }));
    server.on("GET /me", me("admin"));
    return openApp(server, "/administration");
  }

  it("invites a user, and shows the address once", async () => {
    const { user: person } = open();
    server.on("POST /users", { user: user("eva"), path: "/invite#hooke_invite_x" });
    await person.type(await screen.findByTestId("user-name"), "Eva");
    expect(screen.getByTestId("add-user")).toBeDisabled();
    await person.clear(screen.getByTestId("user-name"));
    await person.type(screen.getByTestId("user-name"), "eva");
    await person.selectOptions(screen.getByTestId("user-role"), "operator");
    await person.click(screen.getByTestId("add-user"));
    expect(await screen.findByTestId("invite-link")).toHaveTextContent(
      `${window.location.origin}/invite#hooke_invite_x`,
    );
    expect(server.askedFor("POST /users")[0]?.body).toEqual({ name: "eva", role: "operator" });
  });

  it("changes a role, and disables a user after asking; not oneself", async () => {
    const { user: person } = open();
    server.on("PATCH /users/*", user("ben", { disabled: true }));
    const mine = within(await screen.findByTestId("user-ana"));
    expect(mine.getByLabelText("Role of ana")).toBeDisabled();
    expect(mine.queryByTestId("disable")).toBeNull();
    await person.selectOptions(screen.getByLabelText("Role of ben"), "viewer");
    await waitFor(() => expect(server.askedFor("PATCH /users/*")[0]?.body).toEqual({ role: "viewer" }));
    const theirs = within(screen.getByTestId("user-ben"));
    await waitFor(() => expect(theirs.getByLabelText("Role of ben")).toBeEnabled());
    await person.click(theirs.getByTestId("disable"));
    await person.click(await screen.findByTestId("disable-confirm"));
    await waitFor(() => expect(server.askedFor("PATCH /users/*")[1]?.body).toEqual({ disabled: true }));
  });

  it("shows tokens of everybody and the audit trail, of one actor if wanted", async () => {
    const { user: person } = open();
    expect(within(await screen.findByTestId("tokens")).getByText("an agent")).toBeVisible();
    const trail = () => within(screen.getByTestId("trail"));
    await screen.findByTestId("trail");
    expect(trail().getByText("sign in failed")).toBeVisible();
    expect(trail().getAllByText("was state running, attempt 1")).toHaveLength(2);
    await person.type(screen.getByTestId("trail-actor"), "b");
    expect(await screen.findByRole("cell", { name: "b" })).toBeVisible();
    expect(screen.getByRole("link", { name: "Export as CSV" })).toHaveAttribute(
      "href",
      "/api/v1/audit/export?kind=csv",
    );
  });

  it("is not for others", async () => {
    server.on("GET /me", me("operator"));
    openApp(server, "/administration");
    expect(await screen.findByTestId("not-admin")).toHaveTextContent("This needs the role admin");
  });
});

describe("a viewer", () => {
  it("starts no experiment, and changes no cluster", async () => {
    server.on("GET /me", me("viewer")).on("GET /clusters", { items: [cluster("hpc")] });
    const { user: person, router } = openApp(server, "/clusters");
    await screen.findByTestId("cluster-hpc");
    const refused = await screen.findByRole("group", { name: /This needs the role operator/ });
    expect(within(refused).getByTestId("drain")).toBeDisabled();
    expect(screen.queryByTestId("add-cluster")).toBeNull();
    expect(screen.queryByRole("link", { name: "New" })).toBeNull();
    await person.hover(refused);
    expect(await screen.findByRole("tooltip")).toHaveTextContent("yours is viewer");
    act(() => router.history.push("/new"));
    expect(await screen.findByTestId("may-not-submit")).toHaveTextContent("This needs the role researcher");
  });
});
