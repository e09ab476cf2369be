import type { RunView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercentTick } from "@/lib/format/numbers";
import { Section } from "@/lib/ui/section";
import styles from "./outcome.module.css";

const BARS = 24;

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
        </span>
      }
    >
      <ol className={styles.histogram} aria-label="Exchanges by staleness">
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
