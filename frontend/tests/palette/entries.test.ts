import { describe, expect, it } from "vitest";
import { deedsOfRun } from "@/features/palette/deeds";
import {
  actions,
  additions,
  allRuns,
  aroundRun,
  type Entry,
  experimentAt,
  ofAlgorithms,
  ofClusters,
  ofExperiment,
  ofExperiments,
  ofRuns,
  ofViews,
  pages,
  runsSought,
  withWords,
} from "@/features/palette/entries";
import { nameFilter } from "@/lib/keeping/name-filter";
import { algorithm, cluster } from "../support/fixtures/catalogue";
import { experiment, summary } from "../support/fixtures/experiment";
import { me, savedView } from "../support/fixtures/people";
import { run, runSummary } from "../support/fixtures/run";

const labels = (entries: readonly Entry[]) => entries.map(({ label }) => label);
const page = (label: string, more?: string): Entry => ({
  key: label,
  label,
  more,
  target: { kind: "page", to: "/" },
});

describe("what each role finds", () => {
  it("administration is a page of admins only, and of nobody while it is not known who this is", () => {
    expect(labels(pages(me("admin")))).toContain("Administration");
    expect(labels(pages(me("operator")))).not.toContain("Administration");
    expect(labels(pages(undefined))).not.toContain("Administration");
  });

  it("viewers are offered no experiment to start, and none to clone", () => {
    expect(labels(actions(me("viewer"), "light"))).toEqual(["Switch to dark colors"]);
    expect(labels(actions(me("researcher"), "dark"))).toEqual([
      "New experiment",
      "Import an experiment from a file",
      "Switch to light colors",
    ]);
    expect(labels(ofExperiment("exp_7", 7, me("viewer")))).not.toContain("Clone this experiment");
  });
});

it("an experiment is begun in the project in view; the default one need not be said", () => {
  const begun = (project?: string) => actions(me("researcher"), "dark", project)[0];
  expect(begun("vision")).toMatchObject({
    ...{ label: "New experiment", more: "in the project vision" },
    target: { kind: "page", to: "/new?project=vision" },
  });
  for (const project of [undefined, "default"])
    expect(begun(project)).toMatchObject({ more: undefined, target: { kind: "page", to: "/new" } });
});

describe("the experiment of the page", () => {
  it.each([
    ["/experiments/exp_7", "exp_7"],
    ["/experiments/exp_7/", "exp_7"],
    ["/runs/run_21", undefined],
    ["/", undefined],
  ])("at %s is %s", (path, id) => {
    expect(experimentAt(path)).toBe(id);
  });

  it("is compared by its number, once that is known", () => {
    const target = ofExperiment("exp_7", 7, undefined).find(({ label }) => /^Compare/.test(label))?.target;
    expect(target).toEqual({ kind: "page", to: `/compare?rows=${encodeURIComponent('["7"]')}` });
    expect(labels(ofExperiment("exp_7", undefined, undefined))).toEqual([
      "Clone this experiment",
      "Report of this experiment",
    ]);
  });
});

describe("what tells things of one name apart", () => {
  it("is the number, the state and the answer of an experiment", () => {
    const [told, short] = ofExperiments([
      summary(7, { headlines: ["Sync EASGD is the fastest on local.", "More."] }),
      summary(8, { state: "succeeded" }),
    ]);
    expect(told).toMatchObject({
      label: "Comparison 7",
      more: "#7 · running · Sync EASGD is the fastest on local.",
      target: { to: "/experiments/exp_7" },
    });
    expect(short?.more).toBe("#8 · finished");
  });

  it("is the name of an algorithm beside its title, and the state of a cluster", () => {
    expect(ofAlgorithms([algorithm("sync-sgd", "Sync SGD"), algorithm("own", "")])).toMatchObject([
      { label: "Sync SGD", more: "sync-sgd", target: { to: "/algorithms/sync-sgd" } },
      { label: "own", more: "own" },
    ]);
    expect(ofClusters([cluster("rack", { online: false })])).toMatchObject([
      { label: "Queue of rack", more: "cluster, offline", target: { to: "/clusters/rack/queue" } },
      { label: "Calibration of rack", target: { to: "/clusters/rack/calibration" } },
    ]);
  });

  it("never is one key for two entries: the list knows them by it", () => {
    const all = [
      ...pages(me("admin")),
      ...actions(me("admin"), "light"),
      ...ofExperiment("exp_7", 7, me("admin")),
      ...ofExperiments([summary(7), summary(8)]),
      ...ofClusters([cluster("a"), cluster("b")]),
      ...ofViews([savedView("viw_1", "All", "/"), savedView("viw_2", "All again", "/")]),
    ];
    expect(new Set(all.map(({ key }) => key)).size).toBe(all.length);
  });
});

describe("what fits", () => {
  const all = [
    page("Async EASGD", "async-easgd"),
    page("EASGD", "easgd"),
    page("Sync EASGD", "sync-easgd"),
    page("Clusters", "queues"),
  ];

  it.each([
    ["", ["Async EASGD", "EASGD", "Sync EASGD", "Clusters"]],
    ["easgd", ["EASGD", "Async EASGD", "Sync EASGD"]],
    ["sync-easgd", ["Sync EASGD", "Async EASGD"]],
    ["EASGD async", ["Async EASGD"]],
    ["queue", ["Clusters"]],
    ["easgd x", []],
  ])("“%s” has every word somewhere; what begins so comes first", (text, found) => {
    expect(labels(withWords(all, text))).toEqual(found);
  });
});

describe("the filter of experiments", () => {
  it.each([
    ["", undefined],
    ["digits", "name ~ digits"],
    ["97 % first", 'name ~ "97 % first"'],
    ['say "and"', 'name ~ "say \\"and\\""'],
    ["12", "number = 12 or name ~ 12"],
    ["#12", "number = 12"],
    ["#12 x", 'name ~ "#12 x"'],
    ["1234567890", "name ~ 1234567890"], // no experiment has such a number
  ])("of “%s” is %s", (text, filter) => {
    expect(nameFilter(text)).toBe(filter);
  });
});

describe("what can be done with a run", () => {
  it.each([
    [{ state: "running" as const }, ["Cancel this run"]],
    [{ state: "failed_user" as const, rung: null }, ["Retry this run"]],
    [{ state: "failed_user" as const, rung: 0 }, []],
    [{ state: "succeeded" as const, rung: null }, []],
  ])("%o: %o", (changes, expected) => {
    expect(deedsOfRun(run(changes)).map(({ label }) => label)).toEqual(expected);
  });
});

describe("runs", () => {
  const id = `run_${"0123456789abcdef".repeat(2)}`;

  it.each([
    [id, { run: [id] }],
    ["#21", { filter: "number = 21" }],
    ["run 21", { filter: "number = 21" }],
    ["state = failed", { filter: "state = failed" }],
    ["easgd", undefined],
    ["run_21", undefined],
  ])("are sought by an id, a number or a filter: %s", (words, sought) => {
    expect(runsSought(words)).toEqual(sought);
  });

  it("say where they ran, with which seed, and what came of them", () => {
    const shown = { ...runSummary(21), accuracy: 0.5, workers: 1, cluster: "local", seed: 3 };
    const [entry] = ofRuns([shown]);
    expect(entry?.label).toBe(`Run #21, ${runSummary(21).variant}`);
    expect(entry?.more).toMatch(/^local, 1 worker · seed 3 · .+ · 50.0%$/);
    const other = { ...shown, id: "run_x", experiment_number: 8, experiment_name: "Digits" };
    const told = ofRuns([shown, other]);
    expect(told.map(({ label }) => label)).toEqual([entry?.label, entry?.label]);
    expect(told.map(({ more }) => more)).toEqual([entry?.more, `#8 Digits · ${entry?.more}`]);
  });

  it("of a filter have a page of their own", () => {
    expect(allRuns("state = failed").map(({ target }) => target)).toEqual([
      { kind: "page", to: "/runs?filter=state%20%3D%20failed" },
    ]);
    expect([...allRuns("easgd"), ...allRuns(id), ...allRuns("")]).toEqual([]);
  });

  it("lead to another experiment like theirs, for those who may start one", () => {
    expect(labels(aroundRun(run(), me("viewer")))).toEqual(["Experiment of this run"]);
    expect(labels(aroundRun(run(), me("researcher")))).toContain("Rerun with changes");
  });
});

it("seeds and variants are added to what has ended here, and anything is renamed", () => {
  const ended = experiment({ state: "succeeded", finished_at: "2026-01-01T00:00:00Z" });
  expect(labels(additions(ended, ""))).toEqual([
    "Rename this experiment",
    "Add seeds to this experiment",
    "Add variants to this experiment",
  ]);
  expect(additions(experiment({ state: "running" }), "").map(({ target }) => target)).toEqual([
    { kind: "here", to: "/experiments/exp_7#rename" },
  ]);
});

it("what is changed where it stands leaves the view as it is", () => {
  const ended = experiment({ state: "succeeded", finished_at: "2026-01-01T00:00:00Z" });
  const search = "?axis=samples&x=1.5_3.2&open=%5B%22local%2F8%2FA+%26+B%22%5D";
  const [rename, seeds] = additions(ended, search).map(({ target }) => "to" in target && target.to);
  expect(rename).toBe(`/experiments/exp_7${search}#rename`);
  const asked = new URL(String(seeds), "http://hooke").searchParams;
  expect([...asked]).toEqual([...new URLSearchParams(search), ["add", "seeds"]]);
});
