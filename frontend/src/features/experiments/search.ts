import { quoted } from "@/lib/keeping/quoted";

/** Which experiments are in view, and how; all of it is in the URL. */
export interface ExperimentsSearch {
  filter?: string;
  /** The project whose experiments are listed; otherwise those of all. */
  project?: string;
  /** The experiments that can be restored. */
  show?: "deleted";
  /** By what they are sorted, "duration" or "-duration"; otherwise the newest are first. */
  sort?: string;
  /** What is shown of each, "verdict.duration.state"; otherwise the usual. */
  columns?: string;
}

export function experimentsSearch(search: Record<string, unknown>): ExperimentsSearch {
  const { filter, project, show, sort, columns } = search;
  const text = typeof filter === "string" || typeof filter === "number" ? String(filter) : "";
  return {
    filter: text.trim() || undefined,
    project: named(project),
    show: show === "deleted" ? show : undefined,
    sort: named(sort),
    columns: named(columns),
  };
}

function named(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}

/** The filter of a list: of a project, and what else is asked for. */
export function inProject(filter: string | undefined, project: string | undefined): string | undefined {
  if (project === undefined) return filter;
  const mine = `project = ${quoted(project)}`;
  return filter ? `${mine} and (${filter})` : mine;
}
