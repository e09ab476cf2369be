/** Which runs are in view, and how; all of it is in the URL. */
export interface FoundRunsSearch {
  filter?: string;
  /** As the API reads it: "-test_accuracy" starts with the largest; otherwise the newest are first. */
  sort?: string;
  /** What is shown of each; otherwise the usual. */
  columns?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value).trim() || undefined : undefined;

export function foundRunsSearch({ filter, sort, columns }: Record<string, unknown>): FoundRunsSearch {
  return { filter: text(filter), sort: text(sort), columns: text(columns) };
}

/** A click on a column: the largest first, then the least, then the newest. */
export function nextSort(sort: string | undefined, key: string): string | undefined {
  if (sort === `-${key}`) return key;
  return sort === key ? undefined : `-${key}`;
}
