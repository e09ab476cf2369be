import type { ExperimentSummary } from "@/lib/client/types.gen";
import { formatAge, formatMoment, formatSeconds } from "@/lib/format/time";
import { columnsIn, columnsText } from "@/lib/ui/columns";

/** What can be shown of each experiment beside its name, in the order in which it stands in a row. */
export const COLUMNS = [
  { key: "verdict", title: "Verdict", usual: true },
  { key: "variants", title: "Variants", usual: true },
  { key: "project", title: "Project", usual: false },
  { key: "user", title: "User", usual: false },
  { key: "finished", title: "Finished", usual: false },
  { key: "duration", title: "Duration", usual: false },
  { key: "curve", title: "Curve", usual: true },
  { key: "state", title: "State", usual: true },
  { key: "progress", title: "Progress", usual: true },
] as const;

export type ColumnKey = (typeof COLUMNS)[number]["key"];
export type Shown = ReadonlySet<ColumnKey>;

/** The columns that an address names, such as "verdict.duration.state"; where it names none, the usual ones. */
export const shownIn = (text: string | undefined): Shown => columnsIn(COLUMNS, text);

/** How an address names columns; undefined: they are the usual ones. */
export const addressOf = (shown: ReadonlySet<string>): string | undefined => columnsText(COLUMNS, shown);

/** Columns that are one short text. */
export const TEXTS = ["project", "user", "finished", "duration"] as const satisfies readonly ColumnKey[];
export type TextKey = (typeof TEXTS)[number];

/** Seconds from the submission to the end, or until now. */
export function secondsOf({ created_at, finished_at }: ExperimentSummary, now: number): number {
  return Math.max(0, (finished_at ? Date.parse(finished_at) : now) - Date.parse(created_at)) / 1000;
}

/** A text column: its title, its text, and what that says on hover. */
export function textOf(key: TextKey, item: ExperimentSummary, now: number) {
  const title = COLUMNS.find((each) => each.key === key)?.title ?? "";
  if (key === "duration") {
    const more = item.finished_at ? "From submission to end" : "Since submission";
    return { title, text: formatSeconds(Math.round(secondsOf(item, now))), more };
  }
  if (key === "finished") {
    const text = item.finished_at ? formatAge(item.finished_at, now) : "not yet";
    return { title, text, more: formatMoment(item.finished_at) };
  }
  return { title, text: item[key], more: item[key] };
}

/** Widths of the columns of a row, as a grid has them: with the texts, and without them where there is no room. */
export function gridOf(shown: Shown): { columns: string; fewer: string } {
  const texts = TEXTS.filter((key) => shown.has(key)).map(() => "minmax(0, 104px)");
  const curve = shown.has("curve") ? ["112px"] : [];
  const progress = shown.has("progress") ? ["minmax(200px, 240px)"] : shown.has("state") ? ["132px"] : [];
  const [head, ends] = [
    ["60px", "minmax(0, 1fr)"],
    [...curve, ...progress, "28px"],
  ];
  return { columns: [...head, ...texts, ...ends].join(" "), fewer: [...head, ...ends].join(" ") };
}
