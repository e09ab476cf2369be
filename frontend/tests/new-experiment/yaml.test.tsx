import { currentCompletions, startCompletion } from "@codemirror/autocomplete";
import { EditorView } from "@codemirror/view";
import { act, screen, waitFor } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { PLAN } from "../support/fixtures/catalogue";
import { experiment } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { openForm, refill, settled } from "./form";

const server = apiServer();
const SCHEMA = {
  components: {
    schemas: {
      ExperimentSpec: {
        type: "object",
        properties: {
          sharding: { type: "string", enum: ["iid", "disjoint"], default: "iid" },
          batch: { type: "integer", default: 32, description: "Samples per worker and step." },
        },
      },
    },
  },
};

beforeEach(() => {
  server.on("GET /api/openapi.json", SCHEMA);
});

const box = () => screen.findByRole("textbox", { name: "Specification as YAML" });
async function editor(): Promise<EditorView> {
  return EditorView.findFromDOM(await box()) as EditorView;
}
const text = async () => (await editor()).state.doc.toString();

/** Write in place of a part of the text; all of it if none is given. */
async function write(insert: string, part?: string) {
  const view = await editor();
  const all = view.state.doc.toString();
  const from = part === undefined ? 0 : all.indexOf(part);
  const to = from + (part ?? all).length;
  await act(async () =>
    view.dispatch({
      changes: { from, to, insert },
      selection: { anchor: from + insert.length },
      userEvent: "input",
    }),
  );
}

async function openYaml(address = "/new?as=yaml") {
  const app = await openForm(server, address);
  await box();
  return app;
}
const spoken = () => screen.getByTestId("yaml-spoken");

describe("the draft as YAML", () => {
  it("is loaded when it is opened, has its address, and is the same draft as the form", async () => {
    const { user, address, idle } = await openForm(server);
    expect(server.askedFor("GET /api/openapi.json")).toEqual([]);
    await refill(user, screen.getByLabelText("Batch"), "48");
    await user.click(screen.getByRole("radio", { name: "YAML" }));
    expect(parse(await text())).toMatchObject({ batch: 48, baseline: "Original EASGD" });
    expect(address()).toBe("/new?as=yaml");
    await write("batch: 64", "batch: 48");
    await user.click(screen.getByRole("radio", { name: "Form" }));
    expect(await screen.findByLabelText("Batch")).toHaveValue("64");
    expect(address()).toBe("/new");
    await user.click(screen.getByRole("radio", { name: "YAML" }));
    expect(parse(await text())).toMatchObject({ batch: 64 });
    await idle();
    expect(server.askedFor("GET /api/openapi.json")).toHaveLength(1); // it does not change
  });

  it("keeps comments while nothing else changes the draft", async () => {
    const { user } = await openYaml();
    await write("batch: 64 # as in the paper", "batch: 32");
    await user.click(screen.getByRole("radio", { name: "Form" }));
    await screen.findByLabelText("Batch");
    await user.click(screen.getByRole("radio", { name: "YAML" }));
    expect(await text()).toContain("batch: 64 # as in the paper");
    await user.click(screen.getByRole("radio", { name: "Form" }));
    await refill(user, await screen.findByLabelText("Batch"), "8");
    await user.click(screen.getByRole("radio", { name: "YAML" }));
    expect(await text()).toContain("batch: 8\n");
  });

  it("is started as it is seen", async () => {
    await openYaml();
    await write("batch: 64", "batch: 32");
    await settled();
    server.on("POST /experiments", new Refusal(503, "The queue is full."));
    screen.getByTestId("start").click();
    await screen.findByText("The queue is full.");
    expect(server.askedFor("POST /experiments")[0]?.body).toMatchObject({
      batch: 64,
      baseline: "Original EASGD",
    });
  });
});

describe("what is wrong", () => {
  it("as YAML forbids the start, is said with its line, and can be discarded", async () => {
    const { user } = await openYaml();
    await settled();
    await write("batch: [1", "batch: 32");
    expect(screen.queryByTestId("plan")).toBeNull(); // it would be that of an earlier text
    expect(screen.getByTestId("start")).toHaveTextContent("Fix 1 problem to start");
    expect(screen.getByTestId("unread")).toHaveTextContent(/The YAML cannot be read.*line \d+, column \d+/);
    expect(await box()).toHaveAttribute("aria-invalid", "true");
    expect(await box()).toHaveAccessibleDescription(/line \d+, column \d+/);
    await user.click(screen.getByRole("button", { name: "Discard this text" }));
    expect(await text()).toContain("batch: 32");
    expect(await box()).toHaveAttribute("aria-invalid", "false");
  });

  it("as a specification is said, too", async () => {
    await openYaml();
    await write("- a list");
    expect(screen.getByTestId("unread")).toHaveTextContent("A specification is an object");
    expect(spoken()).toHaveTextContent("Line 1, specification: A specification is an object");
  });

  it("by the dry run is marked at its line, told with it, and reached from the plan", async () => {
    const { user } = await openYaml();
    const pointer = "/variants/1/parameters/lr";
    server.on(
      "POST /experiments/dry-run",
      new Refusal(422, "Faults.", [{ pointer, message: "must be > 0" }]),
    );
    await write(
      "algorithm: sync-easgd\n    parameters: { lr: -1 }",
      "algorithm: sync-easgd\n    parameters: {}",
    );
    const fault = await screen.findByTestId("fault");
    await settled();
    const view = await editor();
    const line = view.state.doc.lineAt(view.state.doc.toString().indexOf("lr: -1")).number;
    await waitFor(() => expect(spoken()).toHaveTextContent(`Line ${line}, variant 2, lr: must be > 0.`));
    expect(view.dom.querySelector(".cm-lintRange-error")).toHaveTextContent("-1");
    await user.click(fault);
    expect(view.state.doc.lineAt(view.state.selection.main.head).number).toBe(line);
    expect(await box()).toHaveFocus();
    server.on("POST /experiments/dry-run", { ...PLAN, runs: [], reported_runs: 0, durations: [] });
    await write("lr: 1", "lr: -1");
    await waitFor(() => expect(spoken()).toHaveTextContent("No problems."));
    expect(view.dom.querySelector(".cm-lintRange-error")).toBeNull();
  });
});

describe("completion", () => {
  it("proposes what the schema of the service has, with its default and documentation", async () => {
    await openYaml();
    await waitFor(() => expect(server.askedFor("GET /api/openapi.json")).toHaveLength(1));
    await write("sh");
    const view = await editor();
    await act(async () => {
      startCompletion(view);
    });
    await waitFor(() =>
      expect(currentCompletions(view.state).map(({ label, detail }) => [label, detail])).toEqual([
        ["sharding", "iid or disjoint · default iid"],
      ]),
    );
  });

  it("is absent, and said to be, where the schema cannot be read; the editor works", async () => {
    server.on("GET /api/openapi.json", new Refusal(404, "No such document."));
    await openYaml();
    expect(await screen.findByText("No completion: No such document.")).toBeVisible();
    await write("batch: 64", "batch: 32");
    expect(await text()).toContain("batch: 64");
  });
});

it("Escape leaves the editor for the choice between form and text; Tab is not caught", async () => {
  const { user } = await openYaml();
  const field = await box();
  act(() => field.focus());
  await user.keyboard("{Escape}");
  expect(screen.getByRole("radio", { name: "YAML" })).toHaveFocus();
  act(() => field.focus());
  const before = await text();
  await user.tab();
  expect(field).not.toHaveFocus();
  expect(await text()).toBe(before);
});

describe("what is cloned", () => {
  const spec = { ...experiment().spec, sharding: "iid" as const };

  it("is the same as text, without what is the default; that is no change of it", async () => {
    server.on("GET /experiments/*", experiment({ spec }));
    const { user } = await openYaml("/new?clone=exp_7&as=yaml");
    expect(parse(await text())).toEqual(experiment().spec);
    await write("seeds: 4", "seeds: 3");
    await user.click(await screen.findByRole("tab", { name: "Changes (1)" }));
    expect(screen.getByTestId("change")).toHaveTextContent("local seeds34");
  });

  it("names what is taken away where that is no default", async () => {
    server.on("GET /experiments/*", experiment({ spec: { ...spec, sharding: "disjoint" } }));
    const { user } = await openYaml("/new?clone=exp_7&as=yaml");
    await write("", "sharding: disjoint\n");
    await user.click(await screen.findByRole("tab", { name: "Changes (1)" }));
    expect(screen.getByTestId("change")).toHaveTextContent("shardingdisjoint–");
  });

  it("names a parameter that its text leaves out, and trials would choose", async () => {
    const [first, ...others] = spec.variants;
    const variants = first ? [{ ...first, parameters: { lr: 0.1 } }, ...others] : [];
    server.on("GET /experiments/*", experiment({ spec: { ...spec, variants } }));
    const { user } = await openYaml("/new?clone=exp_7&as=yaml");
    expect(await text()).not.toContain("lr");
    await write("tuning: { trials: 12 }\n", "");
    await user.click(await screen.findByRole("tab", { name: "Changes (2)" }));
    expect(screen.getAllByTestId("change").map((row) => row.textContent)).toEqual([
      "tuning trials–12",
      "Original EASGD lr0.1–",
    ]);
  });

  it("is text with its defaults where the schema cannot be read", async () => {
    server.on("GET /api/openapi.json", new Refusal(404, "No such document."));
    server.on("GET /experiments/*", experiment({ spec }));
    await openYaml("/new?clone=exp_7&as=yaml");
    expect(parse(await text())).toEqual(spec);
  });
});
