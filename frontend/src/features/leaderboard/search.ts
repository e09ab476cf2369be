/** What of the leaderboard is in view; all of it is in the URL. */
export interface LeaderboardSearch {
  /** Only this workload, and only this target, as the API names them; otherwise all, and the one that decides. */
  workload?: string;
  target?: string;
  /** The workload by whose times algorithms are sorted; otherwise the best score is first. */
  sort?: string;
}

export function leaderboardSearch({ workload, target, sort }: Record<string, unknown>): LeaderboardSearch {
  return { workload: text(workload), target: text(target), sort: text(sort) };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
