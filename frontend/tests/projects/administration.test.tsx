import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { MemberView, ProjectList, ProjectView } from "@/lib/client/types.gen";
import { openApp } from "../support/app";
import { me, member, project, user } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();

function open(
  projects: ProjectView[],
  members: MemberView[] = [],
  users = true,
  kept: Partial<ProjectList> = {},
) {
  server.on("GET /me", me("admin", { users })).on("GET /tokens", { items: [] });
  server.on("GET /users", { items: users ? [user("ana"), user("ben"), user("eva")] : [] });
  server.on("GET /audit", { items: [], next_cursor: null });
  server.on("GET /projects", { items: projects, ...kept });
  server.on("GET /projects/*/members", { items: members });
  return openApp(server, "/administration");
}

const row = async (name: string) => within(await screen.findByTestId(`project-${name}`));

describe("the card of projects", () => {
  it("says the retention of the server, also before there are users, and makes no project then", async () => {
    open([project("default")], [], false, { site: "90 days", undo: "36 hours" });
    expect(await screen.findByTestId("retention")).toHaveTextContent(
      "By default, the server deletes experiments 90 days after they have ended (HOOKE_KEEP_RUNS). " +
        "Starred and protected ones stay. What was deleted can be restored for 36 hours.",
    );
    expect((await row("default")).getByText("after 90 days (server default)")).toBeVisible();
    expect(screen.getByRole("heading", { name: "Retention and quota" })).toBeVisible();
    expect(screen.queryByTestId("add-project")).toBeNull();
  });

  it("says of each whether it is open, and when it deletes; the default one has no members and no archive", async () => {
    open([project("default"), project("vision", { archived: true, keep_runs: "90d" })]);
    const vision = await row("vision");
    for (const words of ["archived", "after 90d", "Unarchive"]) expect(vision.getByText(words)).toBeVisible();
    const buttons = (await row("default")).getAllByRole("button").map((each) => each.textContent);
    expect(buttons).toEqual(["Change"]);
  });

  it("says how many points each holds of those it may hold, and what follows once they are used up", async () => {
    open([project("default"), project("vision", { points: 4_200_000, quota: 5_000_000 })]);
    expect((await row("default")).getByText("no quota")).toBeVisible();
    const vision = await row("vision");
    expect(vision.getByText("4,200,000 of 5,000,000 points (84%)")).toBeVisible();
    expect(vision.queryByText(/Used up/)).toBeNull();
  });

  it("changes the quota of a project, also to any number", async () => {
    const before = project("vision", { points: 6_000_000, quota: 5_000_000 });
    const { user: person } = open([project("default"), before]);
    expect(
      (await row("vision")).getByText(/Used up: nothing more can be put into this project/),
    ).toBeVisible();
    const save = async (limit: string, after: ProjectView) => {
      await person.click((await row("vision")).getByTestId("change"));
      const form = within(await screen.findByTestId("change-project"));
      const field = form.getByLabelText("Quota, points");
      await person.clear(field);
      if (limit) await person.type(field, limit);
      server.on("PATCH /projects/*", after).on("GET /projects", { items: [project("default"), after] });
      await person.click(form.getByTestId("save-project"));
    };
    await save("9000000", { ...before, quota: 9_000_000 });
    expect(await screen.findByText("6,000,000 of 9,000,000 points (66%)")).toBeVisible();
    await save("", { ...before, points: null, quota: 0 });
    await waitFor(() => expect(screen.queryByText("6,000,000 of 9,000,000 points (66%)")).toBeNull());
    expect(server.askedFor("PATCH /projects/*").map(({ body }) => body)).toEqual([
      { quota: 9_000_000 },
      { quota: 0 },
    ]);
  });

  it("makes a project, and keeps a name that the server refuses", async () => {
    const { user: person } = open([project("default")]);
    server.on("POST /projects", new Refusal(409, "there is a project vision"));
    await person.type(await screen.findByTestId("project-name"), "Vision");
    expect(screen.getByTestId("add-project")).toBeDisabled();
    await person.clear(screen.getByTestId("project-name"));
    await person.type(screen.getByTestId("project-name"), "vision{Enter}");
    expect(await screen.findByText(/there is a project vision/)).toBeVisible();
    expect(screen.getByTestId("project-name")).toHaveValue("vision");
    server.on("POST /projects", project("vision"));
    server.on("GET /projects", { items: [project("default"), project("vision")] });
    await person.click(screen.getByTestId("add-project"));
    expect(await screen.findByTestId("project-vision")).toBeVisible();
    expect(screen.getByTestId("project-name")).toHaveValue("");
  });

  it("renames a project, and changes what it says and keeps; what stays is not sent", async () => {
    const { user: person } = open([project("default"), project("vision", { description: "images" })]);
    await person.click((await row("vision")).getByTestId("change"));
    const form = within(await screen.findByTestId("change-project"));
    const name = form.getByLabelText("Project name");
    await person.type(name, "-2");
    await person.selectOptions(form.getByLabelText("Delete ended experiments"), "after");
    expect(form.getByTestId("save-project")).toBeDisabled(); // after how long?
    await person.type(form.getByLabelText("Duration"), "90d");
    server.on("PATCH /projects/*", new Refusal(409, "there is a project vision-2"));
    await person.click(form.getByTestId("save-project"));
    expect(await form.findByText(/there is a project vision-2/)).toBeVisible();
    expect(name).toHaveValue("vision-2");
    const after = project("vision-2", { keep_runs: "90d" });
    server.on("PATCH /projects/*", after).on("GET /projects", { items: [project("default"), after] });
    await person.click(form.getByTestId("save-project"));
    expect((await row("vision-2")).getByText("after 90d")).toBeVisible();
    expect(screen.queryByTestId("change-project")).toBeNull();
    const [asked] = server.askedFor("PATCH /projects/*");
    expect(asked?.path).toMatch(/\/projects\/vision$/);
    expect(asked?.body).toEqual({ name: "vision-2", keep_runs: "90d" });
  });

  it("keeps the name of the default project", async () => {
    const { user: person } = open([project("default", { keep_runs: "2w" })]);
    await person.click((await row("default")).getByTestId("change"));
    const form = within(await screen.findByTestId("change-project"));
    expect(form.getByLabelText("Project name")).toBeDisabled();
    expect(form.getByLabelText("Duration")).toHaveValue("2w");
  });

  it("archives a project, and the list follows", async () => {
    const { user: person } = open([project("default"), project("vision")]);
    server.on("PATCH /projects/*", project("vision", { archived: true }));
    const vision = await row("vision");
    server.on("GET /projects", { items: [project("default"), project("vision", { archived: true })] });
    await person.click(vision.getByTestId("archive"));
    expect(await screen.findByText("archived")).toBeVisible();
    expect(server.askedFor("PATCH /projects/*")[0]?.body).toEqual({ archived: true });
  });
});

describe("the members of a project", () => {
  it("are added with a role, of the users who are none yet", async () => {
    const { user: person } = open([project("default"), project("vision")], [member("ben")]);
    await person.click((await row("vision")).getByTestId("members"));
    const names = await screen.findByTestId("member-name");
    await waitFor(() =>
      expect(
        within(names)
          .getAllByRole("option")
          .map((each) => each.textContent),
      ).toEqual(["ana", "eva"]),
    );
    server.on("PUT /projects/*/members/*", member("eva", "viewer"));
    await person.selectOptions(names, "eva");
    await person.selectOptions(screen.getByTestId("member-role"), "viewer");
    server.on("GET /projects/*/members", { items: [member("ben"), member("eva", "viewer")] });
    await person.click(screen.getByTestId("add-member"));
    expect(await screen.findByTestId("member-eva")).toBeVisible();
    const [asked] = server.askedFor("PUT /projects/*/members/*");
    expect(asked?.path).toMatch(/\/projects\/vision\/members\/eva$/);
    expect(asked?.body).toEqual({ role: "viewer" });
  });

  it("get another role, or a refusal that is said", async () => {
    const { user: person } = open([project("default"), project("vision")], [member("ben")]);
    await person.click((await row("vision")).getByTestId("members"));
    server.on("PUT /projects/*/members/*", new Refusal(404, "no user is called ben"));
    await person.selectOptions(await screen.findByLabelText("Role of ben in vision"), "operator");
    expect(await screen.findByText(/no user is called ben/)).toBeVisible();
    expect(screen.getByLabelText("Role of ben in vision")).toHaveValue("researcher");
  });

  it("are removed after a question, and hidden again by the button that showed them", async () => {
    const { user: person } = open([project("default"), project("vision")], [member("ben")]);
    const vision = await row("vision");
    await person.click(vision.getByTestId("members"));
    await person.click(await screen.findByTestId("remove-member"));
    server.on("DELETE /projects/*/members/*", {}).on("GET /projects/*/members", { items: [] });
    await person.click(await screen.findByTestId("remove-member-confirm"));
    expect(await screen.findByText("vision has no members yet.")).toBeVisible();
    await person.click(vision.getByTestId("members"));
    expect(screen.queryByTestId("project-members")).toBeNull();
  });
});
