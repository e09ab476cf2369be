/** How the clusters are looked at; all of it is in the URL. */
export interface ClustersSearch {
  /** The time over which occupancies are shown; otherwise a day. */
  period?: "week";
}

export function clustersSearch({ period }: Record<string, unknown>): ClustersSearch {
  return { period: period === "week" ? period : undefined };
}
