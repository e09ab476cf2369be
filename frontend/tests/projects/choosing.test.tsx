import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { answerExperiment, openExperiment } from "../experiment/page";
import { openForm, settled } from "../new-experiment/form";
import { openApp } from "../support/app";
import { experiment, summary } from "../support/fixtures/experiment";
import { me, project } from "../support/fixtures/people";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const page = (...numbers: number[]) => ({ items: numbers.map((n) => summary(n)), next_cursor: null });
const both = { items: [project("default"), project("vision")] };
const filters = () => server.askedFor("GET /experiments").map(({ query }) => query.get("filter"));

describe("the list of experiments", () => {
  it("shows nothing of projects while there is only one", async () => {
    server.on("GET /projects", { items: [project("default")] }).on("GET /experiments", page(1));
    openApp(server, "/");
    await screen.findByTestId("experiment-item");
    await waitFor(() => expect(server.askedFor("GET /projects")).toHaveLength(1));
    expect(screen.queryByTestId("project")).toBeNull();
    expect(screen.queryByText("default")).toBeNull();
  });

  it("is one of a project, which is in the address, together with what is looked for", async () => {
    server.on("GET /projects", both).on("GET /experiments", page(1));
    const { user, address } = openApp(server, "/?filter=starred");
    await user.selectOptions(await screen.findByTestId("project"), "vision");
    await waitFor(() => expect(filters().at(-1)).toBe("project = vision and (starred)"));
    expect(address()).toBe("/?filter=starred&project=vision");
    await user.clear(screen.getByTestId("filter"));
    await waitFor(() => expect(filters().at(-1)).toBe("project = vision"));
    expect(screen.getByTestId("new-experiment")).toHaveAttribute("href", "/new?project=vision");
    await user.selectOptions(screen.getByTestId("project"), "All projects");
    await waitFor(() => expect(filters().at(-1)).toBeNull());
    expect(address()).toBe("/");
  });

  it("of a project that has none says so, and not that there is no experiment at all", async () => {
    server.on("GET /projects", both).on("GET /experiments", page());
    openApp(server, "/?project=vision");
    expect(await screen.findByTestId("nothing-fits")).toBeVisible();
    expect(await screen.findByTestId("project")).toHaveValue("vision");
    expect(screen.queryByTestId("empty")).toBeNull();
  });

  it("names the project of what is not in the default one", async () => {
    const items = [summary(1), summary(2, { project: "vision" })];
    server.on("GET /projects", both).on("GET /experiments", { items, next_cursor: null });
    openApp(server, "/");
    expect(await screen.findByTitle("Project")).toHaveTextContent("vision");
  });

  it("warns of projects in view whose points are nearly used up, for those who put something into them", async () => {
    const held = (name: string, points: number, changes = {}) =>
      project(name, { points, quota: 100, role: "researcher", ...changes });
    const items = [
      held("default", 10),
      held("vision", 85),
      held("text", 100),
      held("sound", 99, { role: "viewer" }),
    ];
    server.on("GET /projects", { items }).on("GET /experiments", page(1));
    const { user } = openApp(server, "/");
    const note = await screen.findByTestId("quota-note");
    expect([...note.querySelectorAll("[class*=message] > div")].map((line) => line.textContent)).toEqual([
      expect.stringMatching(/^The project vision holds 85 of the 100 points/),
      expect.stringMatching(
        /^The project text holds 100 of the 100 points.*nothing more can be put into it until/,
      ),
    ]);
    await user.selectOptions(await screen.findByTestId("project"), "text");
    await waitFor(() => expect(note).not.toHaveTextContent("vision"));
    await user.selectOptions(screen.getByTestId("project"), "default");
    await waitFor(() => expect(screen.queryByTestId("quota-note")).toBeNull());
  });

  it("is there although the projects cannot be listed", async () => {
    server.on("GET /projects", new Refusal(404, "no projects")).on("GET /experiments", page(1));
    openApp(server, "/");
    expect(await screen.findByTestId("experiment-item")).toBeVisible();
    expect(screen.queryByTestId("project")).toBeNull();
  });
});

describe("the form of a new experiment", () => {
  const sent = () => server.askedFor("POST /experiments").map(({ query }) => query.get("project"));
  const planned = () => server.askedFor("POST /experiments/dry-run").at(-1)?.query.get("project");

  it("asks for no project while there is only one, and sends none", async () => {
    server.on("GET /projects", { items: [project("default")] });
    const { user } = await openForm(server);
    await settled();
    expect(screen.queryByTestId("project")).toBeNull();
    expect(planned()).toBeNull();
    server.on("POST /experiments", new Refusal(409, "not now"));
    await user.click(screen.getByTestId("start"));
    await waitFor(() => expect(sent()).toEqual([null]));
  });

  it("says of a project whose points are used up that nothing more can be put into it", async () => {
    const full = project("vision", { points: 101, quota: 100 });
    server.on("GET /projects", { items: [project("default", { points: 99, quota: 100 }), full] });
    const { user } = await openForm(server);
    await settled();
    const choice = await screen.findByTestId("project");
    expect(screen.queryByTestId("quota-note")).toBeNull(); // of what is nearly used up the plan warns
    await user.selectOptions(choice, "vision");
    expect(await screen.findByTestId("quota-note")).toHaveTextContent(
      "101 of the 100 points that it may hold",
    );
  });

  it("plans and starts in the project that is chosen, under another key", async () => {
    server.on("GET /projects", both).on("POST /experiments", new Refusal(409, "not now"));
    const { user } = await openForm(server);
    await settled();
    await user.click(screen.getByTestId("start"));
    await screen.findByText("not now");
    await user.selectOptions(await screen.findByTestId("project"), "vision");
    await waitFor(() => expect(planned()).toBe("vision"));
    await settled();
    await user.click(screen.getByTestId("start"));
    await waitFor(() => expect(sent()).toEqual([null, "vision"]));
    const keys = server.askedFor("POST /experiments").map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });

  it("begins with the project in view, or that of the experiment that is cloned", async () => {
    server.on("GET /projects", both);
    await openForm(server, "/new?project=vision");
    expect(await screen.findByTestId("project")).toHaveValue("vision");
  });

  it("of a clone begins with the project of the original", async () => {
    server.on("GET /projects", both);
    server.on("GET /experiments/*", experiment({ id: "exp_7", project: "vision" }));
    await openForm(server, "/new?clone=exp_7");
    expect(await screen.findByTestId("project")).toHaveValue("vision");
  });

  it("is there for who is a researcher in one project only, and starts there", async () => {
    server.on("GET /me", me("viewer", { projects: { vision: "researcher" } }));
    const items = [project("default", { role: "viewer" }), project("vision", { role: "researcher" })];
    server.on("GET /projects", { items });
    await openForm(server);
    await waitFor(() => expect(planned()).toBe("vision"));
    expect(screen.queryByTestId("project")).toBeNull();
    expect(screen.queryByTestId("may-not-submit")).toBeNull();
  });
});

describe("the page of an experiment", () => {
  it.each([
    ["default", 0],
    ["vision", 1],
  ])("in %s names its project so many times: %i", async (name, times) => {
    answerExperiment(server);
    server.on("GET /experiments/*", experiment({ project: name }));
    await openExperiment(server);
    expect(screen.queryAllByTitle("Project")).toHaveLength(times);
  });
});
