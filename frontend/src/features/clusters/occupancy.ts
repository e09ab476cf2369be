import type { Sheet } from "@/lib/charts/sheet-table";
import type { OccupancyView } from "@/lib/client/types.gen";
import { barsSvg } from "@/lib/export/bars-svg";
import type { Vector } from "@/lib/export/picture";
import { formatPercent } from "@/lib/format/numbers";
import { formatMoment } from "@/lib/format/time";

/** Mean share of the slots that were held, over what is known; undefined: nothing is. */
export function meanShare({ shares }: Pick<OccupancyView, "shares">): number | undefined {
  const known = shares.filter((share) => share !== null);
  return known.length === 0 ? undefined : known.reduce((sum, share) => sum + share, 0) / known.length;
}

/** Begin and end of an interval, ms since 1970. */
export function intervalOf({ since, seconds }: OccupancyView, place: number): [number, number] {
  const begin = Date.parse(since) + place * seconds * 1000;
  return [begin, begin + seconds * 1000];
}

/** "2026-03-01 10:00 to 10:30". */
export function intervalWords(view: OccupancyView, place: number): string {
  const [begin, end] = intervalOf(view, place).map((at) =>
    formatMoment(new Date(at).toISOString()).slice(0, 16),
  );
  const sameDay = begin?.slice(0, 10) === end?.slice(0, 10);
  return `${begin} to ${sameDay ? end?.slice(11) : end}`;
}

/** What an interval shows: "43%", or that nothing is known. */
export function shareWords(share: number | null): string {
  return share === null ? "unknown" : formatPercent(share, 0);
}

/** "31% of 8 slots, at most 100% in half an hour". */
export function summary(view: OccupancyView): string {
  const mean = meanShare(view);
  if (mean === undefined) return "no data for this time";
  const most = Math.max(...view.shares.map((share) => share ?? 0));
  const length = view.seconds >= 3600 ? `${view.seconds / 3600} hours` : `${view.seconds / 60} minutes`;
  return `${formatPercent(mean, 0)} of ${view.slots} slots on average, at most ${formatPercent(most, 0)} over ${length}`;
}

/** The bars for a paper. */
export function occupancySvg(view: OccupancyView): Vector {
  const bars = view.shares.map((share, place) => ({ share, below: intervalWords(view, place) }));
  return barsSvg(`Occupancy of ${view.cluster}`, bars, "Share of the slots that runs held");
}

/** The shares as a table. */
export function occupancySheet(view: OccupancyView): Sheet {
  return {
    head: ["Time", "Share of the slots"],
    rows: view.shares.map((share, place) => [intervalWords(view, place), shareWords(share)]),
  };
}
