import { quoted } from "@/lib/keeping/quoted";

/** Which experiments are in view; all of it is in the URL. */
export interface ExperimentsSearch {
  filter?: string;
  /** The project whose experiments are listed; otherwise those of all. */
  project?: string;
  /** The experiments that can be restored. */
  show?: "deleted";
}

export function experimentsSearch({ filter, project, show }: Record<string, unknown>): ExperimentsSearch {
  const text = typeof filter === "string" || typeof filter === "number" ? String(filter) : "";
  return {
    filter: text.trim() || undefined,
    project: typeof project === "string" && project ? project : undefined,
    show: show === "deleted" ? show : undefined,
  };
}

/** The filter of a list: of a project, and what else is asked for. */
export function inProject(filter: string | undefined, project: string | undefined): string | undefined {
  if (project === undefined) return filter;
  const mine = `project = ${quoted(project)}`;
  return filter ? `${mine} and (${filter})` : mine;
}
