import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Me, UserView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { entry, me, user } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const LONG = "a".repeat(63);

function open(users: UserView[], who: Me = me("admin")) {
  server.on("GET /me", who).on("GET /tokens", { items: [] });
  server.on("GET /users", { items: users });
  server.on("GET /audit", { items: [], next_cursor: null });
  return openApp(server, "/administration");
}

describe("before the first user", () => {
  it("says what the first one changes, and shows no empty table", async () => {
    open([], me("admin", { name: "owner", is_user: false, users: false, credential: "start-up token" }));
    expect(
      await screen.findByText(/There are no users yet\. After the first one is added, browsers/),
    ).toBeVisible();
    expect(await screen.findByText("No entries match.")).toBeVisible();
    expect(screen.queryByTestId("users")).toBeNull();
    expect(screen.queryByTestId("tokens")).toBeNull();
  });
});

describe("the regions of the page", () => {
  it("have names of their own, also the tables within sections", async () => {
    open([user("ben")]);
    server.on("GET /audit", { items: [entry(1)], next_cursor: null });
    await screen.findByTestId("trail");
    await screen.findByTestId("users");
    const names = screen.getAllByRole("region").map((region) => region.getAttribute("aria-label"));
    expect(names).toContain("Entries of the audit trail");
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("the users", () => {
  it("that cannot be listed leave the rest of the page as it is", async () => {
    const { user: person } = open([]);
    server.on("GET /users", new Refusal(404, "no such list"));
    expect(await screen.findByText(/no such list/)).toBeVisible();
    expect(await screen.findByText("No entries match.")).toBeVisible();
    await person.click(screen.getByTestId("user-name"));
    await person.paste(LONG);
    expect(screen.getByTestId("add-user")).toBeEnabled();
  });

  it("are told apart by whether they can sign in, and when they last did", async () => {
    const invited = { has_password: false, signed_in_at: null, invite_until: "2099-01-01T00:00:00Z" };
    open([user("ben", invited), user(LONG, { disabled: true })]);
    const ben = within(await screen.findByTestId("user-ben"));
    expect(ben.getByText("invited")).toBeVisible();
    expect(ben.getByText("never")).toBeVisible();
    const gone = within(screen.getByTestId(`user-${LONG}`));
    expect(gone.getByText("disabled")).toBeVisible();
    expect(gone.queryByTestId("invite")).toBeNull();
    expect(gone.queryByTestId("disable")).toBeNull();
  });

  it("are enabled again without a question, and the list follows", async () => {
    const { user: person } = open([user("ben", { disabled: true })]);
    server.on("PATCH /users/*", user("ben"));
    await screen.findByTestId("enable");
    server.on("GET /users", { items: [user("ben")] });
    await person.click(screen.getByTestId("enable"));
    expect(await screen.findByText("active")).toBeVisible();
    expect(server.askedFor("PATCH /users/*")[0]?.body).toEqual({ disabled: false });
  });

  it("lose their sessions after a question; nobody ends their own here", async () => {
    const { user: person } = open([user("ana"), user("ben")]);
    const ben = within(await screen.findByTestId("user-ben"));
    server.on("POST /users/*/sign-out", new Refusal(404, "no user has the name ben"));
    const end = async () => {
      await person.click(ben.getByTestId("end-sessions"));
      await person.click(await screen.findByTestId("end-sessions-confirm"));
    };
    await end();
    expect(await ben.findByRole("alert")).toHaveTextContent("no user has the name ben");
    server.on("POST /users/*/sign-out", {});
    await end();
    expect(await ben.findByText("Signed out")).toBeVisible();
    expect(ben.queryByRole("alert")).toBeNull();
    expect(server.askedFor("POST /users/*/sign-out")[1]?.path).toMatch(/\/users\/ben\/sign-out$/);
    expect(within(screen.getByTestId("user-ana")).queryByTestId("end-sessions")).toBeNull();
  });

  it("keep their role where the server refuses another, which is said at the user", async () => {
    const { user: person } = open([user("ben", { role: "admin" }), user("eva")]);
    server.on("PATCH /users/*", new Refusal(409, "ben is the last administrator"));
    await person.selectOptions(await screen.findByLabelText("Role of ben"), "viewer");
    const ben = within(screen.getByTestId("user-ben"));
    expect(await ben.findByRole("alert")).toHaveTextContent("ben is the last administrator");
    expect(ben.getByLabelText("Role of ben")).toHaveValue("admin");
    expect(within(screen.getByTestId("user-eva")).queryByRole("alert")).toBeNull();
  });

  it("keep the name in the form where the server has one like it", async () => {
    const { user: person } = open([user("ben")]);
    server.on("POST /users", new Refusal(409, "there is a user ben"));
    await person.type(await screen.findByTestId("user-name"), "ben{Enter}");
    expect(await screen.findByTestId("error")).toHaveTextContent(
      "The user could not be added. there is a user ben",
    );
    expect(screen.getByTestId("user-name")).toHaveValue("ben");
    expect(screen.queryByTestId("invite-link")).toBeNull();
  });
});

describe("an invitation", () => {
  it("made later takes the place of the address before", async () => {
    const { user: person } = open([user("ben")]);
    server.on("POST /users", { user: user("eva"), path: "/invite#first" });
    server.on("POST /users/*/invite", { user: user("ben"), path: "/invite#second" });
    await person.type(await screen.findByTestId("user-name"), "eva{Enter}");
    expect(await screen.findByTestId("invite-link")).toHaveTextContent("Send this address to eva");
    await person.click(screen.getByTestId("invite"));
    await waitFor(() =>
      expect(screen.getByTestId("invite-link")).toHaveTextContent("Send this address to ben"),
    );
    expect(screen.getByTestId("invite-link")).toHaveTextContent("/invite#second");
    expect(screen.getByTestId("invite-link")).not.toHaveTextContent("#first");
  });
});

describe("the audit trail", () => {
  it("is read page by page, with ids shortened and whole on demand", async () => {
    const { user: person } = open([]);
    server.on("GET /audit", ({ query }) =>
      query.get("cursor")
        ? { items: [entry(1, { subject: "hpc" })], next_cursor: null }
        : { items: [entry(2)], next_cursor: "older" },
    );
    const id = await screen.findByText("run_…89abcdef");
    expect(id).toHaveAttribute("title", "run_0123456789abcdef0123456789abcdef");
    await person.click(screen.getByRole("button", { name: "Load more" }));
    expect(await screen.findByText("hpc")).toBeVisible();
    expect(screen.getByText("run_…89abcdef")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
  });

  it("is asked about one subject, without the blanks around it", async () => {
    const { user: person } = open([]);
    await person.type(await screen.findByTestId("trail-subject"), " hpc ");
    await waitFor(() => expect(server.askedFor("GET /audit").at(-1)?.query.get("subject")).toBe("hpc"));
    expect(server.askedFor("GET /audit").at(-1)?.query.has("actor")).toBe(false);
  });

  it("that cannot be read says so, and not that there is no entry", async () => {
    open([]);
    server.on("GET /audit", new Refusal(404, "no trail is kept"));
    expect(await screen.findByText(/no trail is kept/)).toBeVisible();
    expect(screen.queryByText("No entries match.")).toBeNull();
  });
});
