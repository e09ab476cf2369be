import type {
  AlgorithmView,
  ClusterView,
  ExperimentSummary,
  ExperimentView,
  Me,
  RunSummary,
  RunView,
  SavedView,
} from "@/lib/client/types.gen";
import { formatPercent } from "@/lib/format/numbers";
import { experimentOf } from "@/lib/keeping/experiment-of";
import { whyNotExtended, whyNoVariants } from "@/lib/keeping/extensible";
import { includes } from "@/lib/people/roles";
import { intoQuery } from "@/lib/projects/use-projects";
import { stateLook } from "@/lib/ui/states";
import { pageOf } from "@/lib/views/pages";
import { type Deed, importInto } from "./deeds";

export type Target =
  | { readonly kind: "page"; readonly to: string }
  /** The page that is shown, which asks for something then. */
  | { readonly kind: "here"; readonly to: string }
  /** A file of the server, opened in a tab of its own. */
  | { readonly kind: "file"; readonly address: string }
  | { readonly kind: "scheme"; readonly next: "light" | "dark" }
  /** Something done with what the page shows, after a question where it has one. */
  | { readonly kind: "deed"; readonly deed: Deed };

export interface Entry {
  readonly key: string;
  readonly label: string;
  /** Tells it from others of its name; found by as well. */
  readonly more?: string;
  readonly target: Target;
}

export interface Group {
  readonly label: string;
  readonly entries: readonly Entry[];
}

const page = (label: string, to: string, more?: string): Entry => ({
  key: to,
  label,
  more,
  target: { kind: "page", to },
});

/** The pages that the user may open. */
export function pages(me: Me | undefined): Entry[] {
  const admin = me !== undefined && includes(me.role, "admin");
  return [
    page("Experiments", "/"),
    page("Runs", "/runs", "of all experiments, by a filter"),
    page("Leaderboard", "/leaderboard"),
    page("Algorithms", "/algorithms"),
    page("Compare", "/compare", "experiments side by side"),
    page("Clusters", "/clusters", "queues, calibrations"),
    page("Deleted experiments", "/?show=deleted"),
    page("Account", "/account", "password and tokens"),
    ...(admin ? [page("Administration", "/administration", "users, webhooks, audit trail")] : []),
  ];
}

const newIn = (into: { project: string } | undefined) =>
  into
    ? page(
        "New experiment",
        `/new?project=${encodeURIComponent(into.project)}`,
        `in the project ${into.project}`,
      )
    : page("New experiment", "/new");

/** What can be done from anywhere; what is made goes into the project in view. */
export function actions(me: Me | undefined, scheme: "light" | "dark", project?: string): Entry[] {
  const next = scheme === "dark" ? "light" : "dark";
  const submits = me === undefined || includes(me.role, "researcher");
  return [
    ...(submits ? [newIn(intoQuery(project)), ...ofDeeds([importInto(project)])] : []),
    { key: "scheme", label: `Switch to ${next} colors`, target: { kind: "scheme", next } },
  ];
}

/** Each deed, known by its label: one page shows one experiment, or one run. */
export function ofDeeds(deeds: readonly Deed[]): Entry[] {
  return deeds.map((deed) => {
    const { label, more } = deed;
    return { key: label, label, more, target: { kind: "deed", deed } };
  });
}

const RUN = /^\/runs\/([\w-]+)/;

/** The id in the address of a run's page. */
export function runAt(path: string): string | undefined {
  return RUN.exec(path)?.[1];
}

const EXPERIMENT = /^\/experiments\/([\w-]+)/;

/** The id in the address of an experiment's page. */
export function experimentAt(path: string): string | undefined {
  return EXPERIMENT.exec(path)?.[1];
}

/** What can be done with the experiment whose page is shown. */
export function ofExperiment(id: string, number: number | undefined, me: Me | undefined): Entry[] {
  const submits = me === undefined || includes(me.role, "researcher");
  const rows = number !== undefined && encodeURIComponent(JSON.stringify([String(number)]));
  return [
    ...(submits ? [page("Clone this experiment", `/new?clone=${id}`)] : []),
    ...(rows ? [page("Compare this experiment with others", `/compare?rows=${rows}`)] : []),
    {
      key: "report",
      label: "Report of this experiment",
      more: "opens in a new tab",
      target: { kind: "file", address: `/api/v1/experiments/${id}/report.html` },
    },
  ];
}

const here = (label: string, to: string): Entry => ({ key: label, label, target: { kind: "here", to } });

/** What may be changed of the experiment whose page is shown, or added to it. `search`: of its address, the view, which stays. */
export function additions(view: ExperimentView, search: string): Entry[] {
  const path = `/experiments/${view.id}`;
  const asking = new URLSearchParams(search);
  asking.set("add", "seeds");
  return [
    here("Rename this experiment", `${path}${search}#rename`),
    ...(whyNotExtended(view) ? [] : [here("Add seeds to this experiment", `${path}?${asking}`)]),
    ...(whyNoVariants(view) ? [] : [page("Add variants to this experiment", `/new?extend=${view.id}`)]),
  ];
}

/** What leads from a run to its experiment, and to another one like it. */
export function aroundRun({ experiment_id: id }: RunView, me: Me | undefined): Entry[] {
  const submits = me === undefined || includes(me.role, "researcher");
  return [
    page("Experiment of this run", `/experiments/${id}`),
    ...(submits ? [page("Rerun with changes", `/new?clone=${id}`, "clones the experiment of this run")] : []),
  ];
}

/** Runs, each with its experiment: many have the same number and variant. */
export function ofRuns(items: readonly RunSummary[]): Entry[] {
  return items.map(({ id, number, variant, cluster, workers, seed, state, accuracy, ...run }) =>
    page(
      `Run #${number}, ${variant}`,
      `/runs/${id}`,
      [
        experimentOf(run),
        `${cluster}, ${workers} ${workers === 1 ? "worker" : "workers"}`,
        `seed ${seed}`,
        stateLook(state).label,
        accuracy !== null && formatPercent(accuracy, 1),
      ]
        .filter(Boolean)
        .join(" · "),
    ),
  );
}

/** How the server finds runs by what was typed. */
export type RunsSought = { readonly run: string[] } | { readonly filter: string };

/** A run by its id, runs by their number, or by a filter; undefined: these words name no run. */
export function runsSought(words: string): RunsSought | undefined {
  if (/^run_[0-9a-f]{32}$/.test(words)) return { run: [words] };
  const [, number] = /^(?:run )?#?(\d{1,9})$/i.exec(words) ?? [];
  if (number !== undefined) return { filter: `number = ${number}` };
  return /[=~<>]/.test(words) ? { filter: words } : undefined;
}

/** The page of all runs that fit a filter that was typed. */
export function allRuns(words: string): Entry[] {
  const sought = runsSought(words);
  if (sought === undefined || "run" in sought) return [];
  const { filter } = sought;
  return [
    { ...page("All such runs", `/runs?filter=${encodeURIComponent(filter)}`, filter), key: "all runs" },
  ];
}

export function ofExperiments(items: readonly ExperimentSummary[]): Entry[] {
  return items.map(({ id, number, name, state, headlines }) =>
    page(
      name,
      `/experiments/${id}`,
      [`#${number}`, stateLook(state).label, headlines[0]].filter(Boolean).join(" · "),
    ),
  );
}

/** Saved views, each known by its id: two of them may have one address. */
export function ofViews(items: readonly SavedView[]): Entry[] {
  return items.map(({ id, name, path }) => ({ ...page(name, path, `view, ${pageOf(path)}`), key: id }));
}

export function ofAlgorithms(items: readonly AlgorithmView[]): Entry[] {
  return items.map(({ name, title }) => page(title || name, `/algorithms/${encodeURIComponent(name)}`, name));
}

export function ofClusters(items: readonly ClusterView[]): Entry[] {
  return items.flatMap(({ name, online }) => {
    const own = `/clusters/${encodeURIComponent(name)}`;
    const state = online ? "" : ", offline";
    return [
      page(`Queue of ${name}`, `${own}/queue`, `cluster${state}`),
      page(`Calibration of ${name}`, `${own}/calibration`, `cluster${state}`),
    ];
  });
}

/** Those that have every word in either of their texts; those of which one begins so come first. */
export function withWords(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ label, more }) => {
    const own = `${label} ${more ?? ""}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
  const begins = ({ label, more }: Entry) =>
    [label, more ?? ""].some((own) => own.toLowerCase().startsWith(words.join(" ")));
  return [...found.filter(begins), ...found.filter((entry) => !begins(entry))];
}
