import type { Band, Comparison, ComparisonRow } from "@/lib/client/types.gen";

/** Rows that may be compared: one cluster, one number of workers. Real and virtual seconds never meet in one. */
export interface Group {
  readonly key: string;
  readonly cluster: string;
  readonly workers: number;
  readonly simulated: boolean;
  readonly oversubscribed: boolean;
  readonly overlapped: boolean;
  readonly rows: readonly ComparisonRow[];
  readonly sentence: string | undefined;
}

/** Groups in the order in which the comparison lists them; sentences come in the same order. */
export function groupsOf(comparison: Comparison | undefined): Group[] {
  const found = new Map<string, ComparisonRow[]>();
  for (const row of comparison?.rows ?? []) {
    const key = `${row.cluster}\n${row.workers}`;
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  return [...found].flatMap(([key, rows], index) => {
    const first = rows[0];
    if (!first) return [];
    return {
      key,
      cluster: first.cluster,
      workers: first.workers,
      simulated: first.simulated,
      oversubscribed: rows.some((row) => row.oversubscribed),
      overlapped: rows.some((row) => row.overlapped > 0),
      rows,
      sentence: comparison?.sentences[index],
    };
  });
}

/** The group that the URL asks for, else the first that has most to compare. */
export function chosenGroup(groups: readonly Group[], cluster?: string, workers?: number): Group | undefined {
  const there = groups.filter((group) => cluster === undefined || group.cluster === cluster);
  const exact = there.find((group) => group.workers === workers);
  if (exact) return exact;
  const pool = there.length > 0 ? there : groups;
  return pool.reduce<Group | undefined>(
    (best, group) => (best && best.rows.length >= group.rows.length ? best : group),
    undefined,
  );
}

/** The bands to draw for a group: a method that only runs on one worker joins the groups of its cluster. */
export function bandsOf(bands: readonly Band[], group: Group): Band[] {
  const here = bands.filter((band) => band.cluster === group.cluster);
  const inGroup = new Set(here.filter((band) => band.workers === group.workers).map((band) => band.variant));
  return here.filter(
    (band) => band.workers === group.workers || (!inGroup.has(band.variant) && band.workers === 1),
  );
}

export function groupLabel(group: Group): string {
  return `${group.cluster} · ${group.workers} ${group.workers === 1 ? "worker" : "workers"}`;
}
