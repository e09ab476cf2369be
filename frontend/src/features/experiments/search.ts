/** Which experiments are in view; all of it is in the URL. */
export interface ExperimentsSearch {
  filter?: string;
  /** The experiments that can be restored. */
  show?: "deleted";
}

export function experimentsSearch({ filter, show }: Record<string, unknown>): ExperimentsSearch {
  const text = typeof filter === "string" || typeof filter === "number" ? String(filter) : "";
  return {
    filter: text.trim() || undefined,
    show: show === "deleted" ? show : undefined,
  };
}
