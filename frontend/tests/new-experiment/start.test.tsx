import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { CATALOGUE, cluster } from "../support/fixtures/catalogue";
import { experiment, SPEC } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { card, openForm, part, refill, settled, shownDocument } from "./form";

const server = apiServer();
const editor = (): HTMLTextAreaElement => screen.getByLabelText("Specification as JSON");

describe("the JSON beside the form", () => {
  it("follows the form, and the form follows it", async () => {
    const { user } = await openForm(server);
    await refill(user, screen.getByLabelText("Batch"), "48");
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    expect(JSON.parse(editor().value)).toMatchObject({ batch: 48 });
    await refill(user, editor(), JSON.stringify({ ...SPEC, checkpoint_every: 5000 }));
    expect(screen.getByLabelText(/Name of the experiment/)).toHaveValue("Digits, three ways");
    expect(screen.getAllByTestId("variant-card")).toHaveLength(3);
    expect(screen.getByLabelText("Checkpoint every")).toHaveValue("5000");
    expect(await shownDocument(user)).toEqual({ ...SPEC, checkpoint_every: 5000 });
  });

  it.each([
    ["{ no", /JSON|property/],
    ["[]", /A specification is an object/],
    ['{"variants": {}}', /“variants” is a list of objects/],
  ])(
    "keeps %s as it was typed, says why it cannot be shown, and leaves the form alone",
    async (text, why) => {
      const { user } = await openForm(server);
      await user.click(screen.getByRole("tab", { name: "JSON" }));
      await refill(user, editor(), text);
      expect(editor()).toHaveValue(text);
      expect(editor()).toBeInvalid();
      expect(editor()).toHaveAccessibleDescription(why);
      expect(screen.getAllByTestId("variant-card")).toHaveLength(2);
      await user.tab();
      expect(editor()).toHaveValue(text);
      await refill(user, editor(), "{}");
      expect(editor()).toBeValid();
      expect(screen.queryAllByTestId("variant-card")).toHaveLength(0);
    },
  );

  it("takes fields that the form does not know, and passes them on", async () => {
    const { user } = await openForm(server);
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    await refill(user, editor(), JSON.stringify({ ...SPEC, notes: { by: "me" } }));
    await refill(user, screen.getByLabelText("Batch"), "8");
    expect(await shownDocument(user)).toEqual({ ...SPEC, notes: { by: "me" }, batch: 8 });
  });
});

describe("where it starts", () => {
  it("is the first example when asked for", async () => {
    await openForm(server, "/new?example=true");
    expect(screen.getByLabelText(/Name of the experiment/)).toHaveValue(
      "Who reaches 97 % first on the digits?",
    );
    expect(screen.getAllByTestId("variant-card")).toHaveLength(5);
  });

  it("is the specification of the experiment that is cloned", async () => {
    const spec = { ...SPEC, variants: [{ name: "Old", algorithm: "retired" }], baseline: "Old" };
    server.on("GET /experiments/*", experiment({ spec }));
    const { user } = await openForm(server, "/new?clone=exp_7");
    expect(server.askedFor("GET /experiments/*").map(({ path }) => path)).toEqual([
      "/api/v1/experiments/exp_7",
    ]);
    expect(card(0).getByRole("combobox", { name: "Algorithm" })).toHaveValue("retired"); // nobody offers it any more
    expect(await shownDocument(user)).toEqual(spec);
  });

  it("has each cluster of the cloned experiment where it was, and the name that it has now", async () => {
    const of = { workers: [2], seeds: 3 };
    // as the server stores them: what was not given is null
    const clusters = [
      { ...of, name: "local", computed_on: null, virtual: null },
      { ...of, name: "10gbe", computed_on: "local", virtual: { latency: 7.2e-6 } },
    ];
    server.on("GET /experiments/*", experiment({ name: "Renamed", spec: { ...SPEC, clusters } as never }));
    const { user } = await openForm(server, "/new?clone=exp_7");
    expect(screen.getByLabelText(/Name of the experiment/)).toHaveValue("Renamed");
    const [real, virtual] = screen.getAllByTestId("cluster-card").map((each) => within(each));
    expect(real?.getByLabelText("Cluster")).toHaveDisplayValue("local");
    expect(real?.queryByLabelText("Computed on")).toBeNull();
    expect(virtual?.getByLabelText("Computed on")).toHaveDisplayValue("local");
    expect(await shownDocument(user)).toMatchObject({
      name: "Renamed",
      clusters: [{ ...of, name: "local" }, clusters[1]],
    });
  });

  it("has a virtual cluster that was computed on the cluster of its name there", async () => {
    const cluster = { name: "local", computed_on: null, workers: [8], seeds: 3, virtual: {} };
    server.on("GET /experiments/*", experiment({ spec: { ...SPEC, clusters: [cluster] } as never }));
    await openForm(server, "/new?clone=exp_7");
    expect(within(screen.getByTestId("cluster-card")).getByLabelText("Computed on")).toHaveDisplayValue(
      "local",
    );
  });

  it("says which catalogue could not be loaded, and reads it when told", async () => {
    server.on("GET /algorithms", new Refusal(500, "No agent has answered."));
    const opening = openForm(server).catch(() => undefined);
    server.on("GET /algorithms", new Refusal(500, "No agent has answered."));
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The form could not be loaded. No agent has answered.");
    server.on("GET /algorithms", CATALOGUE);
    within(alert).getByRole("button", { name: "Try again" }).click();
    await opening;
    expect(await screen.findByTestId("form")).toBeVisible();
  });

  it("learns of a cluster as soon as its agent registers", async () => {
    const { user, live } = await openForm(server, "/new", []);
    await live();
    await user.click(part("clusters").getByRole("button", { name: "Add cluster" }));
    expect(await screen.findByText("No clusters yet")).toBeVisible();
    server.on("GET /clusters", { items: [cluster("lab", { cores: 4 })] });
    server.send("clusters", {}, 3);
    expect(await screen.findByRole("menuitem", { name: "lab (4 cores)" })).toBeVisible();
  });
});

describe("what is seen is what starts", () => {
  const startButton = () => screen.getByTestId("start");

  it("nothing, while the JSON cannot be read, on either tab, until it is mended or discarded", async () => {
    const { user } = await openForm(server);
    await settled();
    expect(startButton()).toBeEnabled();
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    await refill(user, editor(), "{ no");
    expect(startButton()).toBeDisabled();
    expect(startButton()).toHaveTextContent("Fix 1 problem to start");
    await user.click(screen.getByRole("tab", { name: "Plan" }));
    expect(startButton()).toBeDisabled();
    expect(screen.getByTestId("unread")).toHaveTextContent(/This is not JSON/);
    await user.click(screen.getByRole("tab", { name: "JSON" }));
    expect(editor()).toHaveValue("{ no");
    await user.click(screen.getByRole("button", { name: "Discard this text" }));
    expect(JSON.parse(editor().value)).toMatchObject({ name: "New comparison" });
    await waitFor(() => expect(startButton()).toBeEnabled());
  });

  it("nothing, while a field holds what is no number, even where it may be empty", async () => {
    const { user } = await openForm(server);
    await settled();
    await refill(user, screen.getByLabelText("Wall limit"), "soon");
    expect(startButton()).toBeDisabled();
    expect(startButton()).toHaveTextContent("Fix 1 problem to start");
    await settled();
    expect(screen.getByTestId("fault")).toHaveAttribute("data-pointer", "/budget/max_seconds");
    expect(startButton()).toBeDisabled();
    await refill(user, screen.getByLabelText("Wall limit"), "60");
    await settled();
    expect(startButton()).toBeEnabled();
  });
});

describe("a draft", () => {
  const name = () => screen.getByLabelText(/Name of the experiment/);

  it("is there again when its page is left and opened again, until it is told to go", async () => {
    server.on("GET /experiments", { items: [], next_cursor: null });
    const { user } = await openForm(server);
    await refill(user, name(), "Half done");
    await user.click(screen.getByRole("link", { name: "Hooke: experiments" }));
    await screen.findByTestId("empty");
    await user.click(screen.getByRole("link", { name: "New" }));
    await screen.findByTestId("form");
    expect(name()).toHaveValue("Half done");
    expect(screen.getByTestId("draft-note")).toHaveTextContent("Your unsaved draft was restored.");
    await user.click(screen.getByRole("button", { name: "Start over" }));
    expect(name()).toHaveValue("New comparison");
    expect(screen.queryByTestId("draft-note")).toBeNull();
  });

  it("that cannot be read is there again as it was typed, until it is discarded", async () => {
    server.on("GET /experiments", { items: [], next_cursor: null });
    const { user } = await openForm(server);
    const away = async () => {
      await user.click(screen.getByRole("link", { name: "Hooke: experiments" }));
      await screen.findByTestId("empty");
      await user.click(screen.getByRole("link", { name: "New" }));
      await screen.findByTestId("form");
    };
    const json = () => user.click(screen.getByRole("tab", { name: "JSON" }));
    await refill(user, screen.getByLabelText("Batch"), "48");
    await json();
    await refill(user, editor(), '{ "name": "half');
    await away();
    await json();
    expect(editor()).toHaveValue('{ "name": "half');
    expect(screen.getByTestId("unread")).toHaveTextContent("The JSON differs from the form");
    expect(screen.getByLabelText("Batch")).toHaveValue("48");
    expect(screen.getByTestId("start")).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Discard this text" }));
    await away();
    expect(screen.queryByTestId("unread")).toBeNull();
    expect(screen.getByLabelText("Batch")).toHaveValue("48");
    await json(); // a text that was read gives way to what the form says since
    await refill(user, editor(), JSON.stringify(JSON.parse(editor().value)));
    await refill(user, screen.getByLabelText("Batch"), "56");
    await away();
    await json();
    expect(JSON.parse(editor().value)).toMatchObject({ batch: 56 });
  });
});
