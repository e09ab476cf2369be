import { DrawingMenu } from "@/lib/charts/drawing-menu";
import type { Sheet } from "@/lib/charts/sheet-table";
import type { RunView } from "@/lib/client/types.gen";
import { barsSvg } from "@/lib/export/bars-svg";
import { formatCount, formatNumber, formatPercent, formatPercentTick } from "@/lib/format/numbers";
import { Section } from "@/lib/ui/section";
import styles from "./outcome.module.css";

const BARS = 24;
const TITLE = "Exchanges by staleness";

export interface Bar {
  readonly label: string;
  readonly count: number;
}

/** One bar for each staleness; where there are too many, neighbours share one. */
export function barsOf(histogram: Readonly<Record<string, number>>, most = BARS): Bar[] {
  const values = Object.keys(histogram).map(Number);
  if (values.length === 0) return [];
  const greatest = Math.max(...values);
  const width = Math.ceil((greatest + 1) / most);
  return Array.from({ length: Math.ceil((greatest + 1) / width) }, (_, i) => {
    const first = i * width;
    const last = first + width - 1;
    const count = values
      .filter((value) => value >= first && value <= last)
      .reduce((sum, value) => sum + (histogram[value] ?? 0), 0);
    return { label: width === 1 ? String(first) : `${first}–${last}`, count };
  });
}

/** How many exchanges had each staleness, and which share of all had that or less. */
export function stalenessSheet(histogram: Readonly<Record<string, number>>): Sheet {
  const found = Object.entries(histogram).sort(([a], [b]) => Number(a) - Number(b));
  const total = found.reduce((sum, [, count]) => sum + count, 0);
  let up = 0;
  return {
    head: ["Staleness", "Exchanges", "Share", "Share up to it"],
    rows: found.map(([staleness, count]) => {
      up += count;
      return [staleness, formatCount(count), formatPercent(count / total), formatPercent(up / total)];
    }),
  };
}

/** How stale the exchanges were, all ranks together, and what a lock-free method lost. */
export function Staleness({ run }: { run: RunView }) {
  const bars = barsOf(run.staleness_histogram);
  if (bars.length === 0 && run.lost_mass === null) return null;
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const total = bars.reduce((sum, bar) => sum + bar.count, 0);
  return (
    <Section
      title="Staleness"
      testId="staleness"
      aside={
        <span className={styles.quiet}>
          {run.staleness !== null &&
            `mean ${formatNumber(run.staleness)} center updates over ${formatCount(total)} exchanges`}
          {run.lost_mass !== null && ` · lost ${formatPercentTick(run.lost_mass)} of pushed update mass`}
          {bars.length > 0 && (
            <DrawingMenu
              of={TITLE}
              host={() =>
                barsSvg(
                  TITLE,
                  bars.map(({ label, count }) => ({
                    share: count / most,
                    below: label,
                    above: formatCount(count),
                  })),
                  "Center updates between read and write",
                )
              }
              sheet={() => stalenessSheet(run.staleness_histogram)}
            />
          )}
        </span>
      }
    >
      <ol className={styles.histogram} aria-label={TITLE}>
        {bars.map(({ label, count }) => (
          <li key={label} title={`${formatCount(count)} exchanges with ${label} center updates in between`}>
            <span>{formatCount(count)}</span>
            <span className={styles.bar} style={{ height: `${Math.max(1, (count / most) * 110)}px` }} />
            <span>{label}</span>
          </li>
        ))}
      </ol>
      <p className={styles.quiet}>Center updates between a worker's read of the center and its write.</p>
    </Section>
  );
}
