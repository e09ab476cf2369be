import { screen, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { openApp } from "../support/app";
import { algorithm, CATALOGUE, cluster, PLAN, workload } from "../support/fixtures/catalogue";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const TEXT = "Sync EASGD.\n\nx_i' = x_i - lr g_i\n\nEvery worker has a replica.\n\nReference: You, 2017.";
const SYNC = algorithm("sync-easgd", "Sync EASGD", {
  documentation: TEXT,
  search: { lr: { low: 0.003, high: 1, scale: "log" } },
});
const items = CATALOGUE.items.map((one) => (one.name === SYNC.name ? SYNC : one));

beforeEach(() => {
  server.on("GET /algorithms", { ...CATALOGUE, items });
});

it("every method is listed under its family, found by what is typed, and leads to its page", async () => {
  const { user, address } = openApp(server, "/algorithms");
  const families = await screen.findAllByTestId("family");
  expect(families.map((one) => within(one).getByRole("heading").textContent)).toEqual([
    "Your own",
    "Elastic averaging",
    "Local steps",
    "Stochastic gradient descent",
  ]);
  await user.type(screen.getByLabelText("Find"), "sync easgd");
  expect(screen.getAllByTestId("method")).toHaveLength(1);
  await user.click(screen.getByRole("link", { name: "Sync EASGD" }));
  expect(await screen.findByRole("heading", { level: 1, name: "Sync EASGD sync-easgd" })).toBeVisible();
  expect(address()).toBe("/algorithms/sync-easgd");
});

it("a page that could not be loaded has a heading, too", async () => {
  server.on("GET /algorithms", new Refusal(404, "Gone."));
  openApp(server, "/algorithms/sync-easgd");
  expect(await screen.findByText(/The algorithm could not be loaded/)).toBeVisible();
  expect(screen.getByRole("heading", { level: 1, name: "Algorithm" })).toBeVisible();
});

it("a page has the equations as written, ranges, what tuning searches and what is verified", async () => {
  openApp(server, "/algorithms/sync-easgd");
  const method = within(await screen.findByTestId("documentation"));
  expect(method.getByText("x_i' = x_i - lr g_i").tagName).toBe("PRE");
  expect(method.getByText("Reference:")).toBeVisible();
  expect(method.getByText(/^Equals/)).toBeVisible(); // from the documents of the repository
  const [rate] = screen.getAllByTestId("parameter");
  expect(screen.getByTestId("measured").getAttribute("href")).toMatch(/^\/\?filter=algorithm.*sync-easgd/);
  expect(rate).toHaveTextContent(/^lr0\.1> 00\.003 to 1, logLearning rate/);
  expect(within(screen.getByTestId("verified-table")).getAllByRole("row").length).toBeGreaterThan(10);
});

it("a page has the places of the method on the leaderboard of this server", async () => {
  const ranked = (name: string, score: number) => ({
    ...{ algorithm: name, score, low: 0.6, high: 0.9, tau: [1, 4], rho: [0, 1], results: [] },
  });
  const board = {
    ...{ cluster: "10gbe", workers: 8, simulated: true, oversubscribed: false, unranked: [] },
    workloads: [{ name: "digits-mlp", target: "97%", trials: 12, experiments: [] }],
    methods: [ranked("sync-sgd", 0.95), ranked("sync-easgd", 0.756)],
  };
  const others = { ...board, cluster: "local", methods: [ranked("sync-sgd", 1)] };
  server.on("GET /leaderboard", { boards: [board, others], tau_max: 4, choices: [], left_out: [] });
  openApp(server, "/algorithms/sync-easgd");
  const rows = within(await screen.findByTestId("places")).getAllByRole("row");
  expect(rows.slice(1).map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
    ["10gbe, 8 workers simulated", "digits-mlp", "0.76", "0.60 to 0.90", "2 of 2"],
  ]);
});

it("a method of one's own has a page, and is tried beside a common one", async () => {
  server
    .on("GET /workloads", { items: [workload("digits-mlp")] })
    .on("GET /clusters", { items: [cluster("local")] })
    .on("POST /experiments/dry-run", PLAN);
  const { user, address } = openApp(server, "/algorithms/gossip");
  expect(await screen.findByText(/this one is your own/)).toBeVisible();
  await user.click(screen.getByRole("link", { name: "Try it" }));
  const cards = await screen.findAllByTestId("variant-card");
  expect(cards.map((card) => (within(card).getByLabelText("Name") as HTMLInputElement).value)).toEqual([
    "Sync SGD",
    "Elastic gossip",
  ]);
  expect(address()).toBe("/new?algorithm=gossip");
});

it("says that nobody offers such a method", async () => {
  openApp(server, "/algorithms/unknown");
  expect(await screen.findByRole("heading", { name: "Algorithm not found" })).toBeVisible();
  expect(document.title).toBe("Algorithm not found · Hooke");
});

it("the list says that no cluster has reported, and has nothing to find then", async () => {
  server.on("GET /algorithms", { ...CATALOGUE, items: [] });
  openApp(server, "/algorithms");
  expect(await screen.findByText("No cluster has reported its algorithms yet.")).toBeVisible();
  expect(screen.queryByLabelText("Find")).toBeNull();
});

it("what nobody offers is told as it was typed, and the list is back once the field is empty", async () => {
  const { user } = openApp(server, "/algorithms");
  const find = await screen.findByLabelText("Find");
  const all = screen.getAllByTestId("method").length;
  await user.type(find, " quantum ");
  expect(screen.getByText("No algorithm matches “ quantum ”.")).toBeVisible();
  await user.clear(find);
  expect(screen.getAllByTestId("method")).toHaveLength(all);
});

it.each([
  ["/algorithms", "The algorithms could not be loaded."],
  ["/algorithms/sync-easgd", "The algorithm could not be loaded."],
])("%s says why it cannot be read, and is read when told", async (where, words) => {
  server.on("GET /algorithms", new Refusal(403, "not for you"));
  const { user } = openApp(server, where);
  expect(await screen.findByRole("alert")).toHaveTextContent(`${words} not for you`);
  server.on("GET /algorithms", { ...CATALOGUE, items });
  await user.click(screen.getByRole("button", { name: "Try again" }));
  expect((await screen.findAllByText(/Sync EASGD/)).length).toBeGreaterThan(0);
  expect(screen.queryByRole("alert")).toBeNull();
});
