import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import { openApp } from "../support/app";
import { comparedExperiment, comparedRows } from "../support/fixtures/compare";
import { summary } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
beforeEach(() => {
  server
    .on("GET /experiments", { items: [7, 8, 12].map((number) => summary(number)), next_cursor: null })
    .on("GET /compare", comparedRows());
});

const link = (rows: string[], more = "") =>
  `/compare?rows=${encodeURIComponent(JSON.stringify(rows))}${more}`;
const asked = () => server.askedFor("GET /compare").at(-1)?.query;

async function open(more = "") {
  const app = openApp(server, link(["7", "8"], more));
  await screen.findAllByTestId("compared-row");
  return app;
}

describe("choosing", () => {
  it("starts with nothing, finds experiments by name or number, and writes them into the address", async () => {
    const { user, router } = openApp(server, "/compare");
    expect(await screen.findByTestId("nothing")).toHaveTextContent("Nothing selected yet");
    expect(document.title).toBe("Compare · Hooke");
    const field = screen.getByRole("combobox", { name: "Experiments" });
    await user.click(field);
    expect(await screen.findAllByRole("option")).toHaveLength(3);
    server.on("GET /experiments", { items: [summary(12)], next_cursor: null });
    await user.type(field, "#12");
    await waitFor(() => expect(screen.getAllByRole("option")).toHaveLength(1));
    const filter = () => server.askedFor("GET /experiments").at(-1)?.query.get("filter");
    await waitFor(() => expect(filter()).toBe("number = 12")); // a slow hand asks for "number = 1" before
    await user.click(await screen.findByRole("option", { name: "#12 Comparison 12" }));
    await waitFor(() => expect(router.state.location.search).toEqual({ rows: ["12"] }));
    await screen.findAllByTestId("compared-row");
    expect(asked()?.getAll("rows")).toEqual(["12"]);
    expect(screen.getByRole("link", { name: "Compare" })).toHaveAttribute("aria-current", "page");
  });

  it("offers experiments by the names that they have, and calls those so that are chosen", async () => {
    const { user, live } = await open();
    await live();
    const now = comparedRows();
    const named = now.experiments.map((one) => ({ ...one, name: `Renamed ${one.number}` }));
    server.on("GET /compare", { ...now, experiments: named });
    server.on("GET /experiments", {
      items: [7, 8, 12].map((number) => summary(number, { name: `Renamed ${number}` })),
      next_cursor: null,
    });
    server.send("experiment", { id: named[0]?.id ?? "" }, 900);
    expect(await screen.findByText("#7 Renamed 7", undefined, { timeout: 4000 })).toBeVisible();
    await user.click(screen.getByRole("combobox", { name: "Experiments" }));
    expect(await screen.findByRole("option", { name: "#12 Renamed 12" })).toBeVisible();
  });

  it("searches all experiments on the server, by name or filter, and not only the newest", async () => {
    server.on("GET /experiments", ({ query }) => {
      const filter = query.get("filter");
      if (filter === "state =") return new Refusal(422, "a value is missing after =");
      return {
        items: filter === "name ~ first" ? [summary(1, { name: "The first one" })] : [],
        next_cursor: null,
      };
    });
    const { user, router } = openApp(server, "/compare");
    const field = await screen.findByRole("combobox", { name: "Experiments" });
    await user.type(field, "first");
    await user.click(await screen.findByRole("option", { name: "#1 The first one" }));
    await waitFor(() => expect(router.state.location.search).toEqual({ rows: ["1"] }));
    expect(screen.getByText("#1 The first one")).toBeVisible(); // though no list has it now
    await user.type(field, "state =");
    expect(await screen.findByText("a value is missing after =")).toBeVisible();
    await user.clear(field);
    await user.type(field, "missing");
    expect(await screen.findByText("No experiment has this name or number")).toBeVisible();
  });

  it("narrows an experiment to some of its variants, and says what it is about", async () => {
    const { user, router } = await open();
    const [seven] = screen.getAllByTestId("chosen-experiment");
    expect(seven).toHaveTextContent("#7 Comparison 7digits-mlp, 97% validation accuracy");
    expect(screen.queryByRole("combobox", { name: "Workers of #7" })).toBeNull(); // there is no choice
    const variants = screen.getByRole("combobox", { name: "Variants of #7" });
    await user.click(variants);
    const [first] = await screen.findAllByRole("option", { name: "Sync EASGD" }); // of #7: the list of #8 is closed
    await user.click(first as HTMLElement);
    await waitFor(() => expect(router.state.location.search).toEqual({ rows: ["7///Sync EASGD", "8"] }));
    await waitFor(() => expect(asked()?.getAll("rows")).toEqual(["7///Sync EASGD", "8"]));
  });

  it("takes all for what is all, and keeps the row of reference as long as it is chosen", async () => {
    const against = "7/local/2/Sync EASGD";
    const { user, router } = openApp(
      server,
      link(["7///Sync EASGD"], `&against=${encodeURIComponent(against)}`),
    );
    await screen.findAllByTestId("compared-row");
    const search = (rows: string[], reference: string | undefined) =>
      waitFor(() => expect(router.state.location.search).toEqual({ rows, against: reference }));
    const list = async (name: string) => {
      const field = screen.getByRole("combobox", { name });
      await user.click(field);
      return within(document.getElementById(field.getAttribute("aria-controls") ?? "") as HTMLElement);
    };
    await user.click((await list("Variants of #7")).getByRole("option", { name: "Original EASGD" }));
    await search(["7"], against);
    await user.click((await list("Experiments")).getByRole("option", { name: "#12 Comparison 12" }));
    await search(["7", "12"], against);
    await user.type(screen.getByRole("combobox", { name: "Experiments" }), "{Backspace}");
    await search(["7"], against);
    await user.click((await list("Variants of #7")).getByRole("option", { name: "Original EASGD" }));
    await search(["7///Original EASGD"], undefined);
  });

  it("names an experiment that the address has by its id, or that the list lacks", async () => {
    server.on("GET /experiments", new Refusal(503, "The database is locked."));
    openApp(server, link(["exp_7", "8//2"]));
    await screen.findAllByTestId("compared-row");
    expect(screen.getAllByText("#7 Comparison 7")).not.toHaveLength(0);
    expect(screen.getAllByText("#8 Comparison 8")).not.toHaveLength(0);
    expect(await screen.findByText(/The list of experiments could not be loaded/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Try again" })).toBeVisible();
    expect(screen.getByRole("combobox", { name: "Workers of #8" })).toBeInTheDocument(); // 2 was chosen
    expect(screen.getByRole("link", { name: "#7 Comparison 7" })).toHaveAttribute(
      "href",
      "/experiments/exp_7",
    );
  });

  it("says which row does not exist, and keeps what was chosen", async () => {
    server.on("GET /compare", new Refusal(404, "no experiment has the number 99"));
    openApp(server, link(["7", "99"]));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "These rows could not be compared. no experiment has the number 99",
    );
    expect(screen.getByText("#99")).toBeVisible();
  });

  it("says that an experiment has no rows yet", async () => {
    const experiments = [comparedExperiment(7, { variants: [], clusters: [], workers: [] })];
    server.on(
      "GET /compare",
      comparedRows({ experiments, rows: [], settings: [], contrasts: [], tasks: [] }),
    );
    openApp(server, link(["7"]));
    expect(await screen.findByTestId("no-rows")).toHaveTextContent("no reported run yet");
  });
});
