import type { DryRun, DurationView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import styles from "./queue-note.module.css";

/** A predicted duration with as many digits as it deserves: 45 s, 12 min, 3 h 05 min. */
export function roughly(seconds: number): string {
  if (seconds < 100) return formatSeconds(Number(seconds.toPrecision(2)));
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : formatSeconds(minutes * 60);
}

const runs = (count: number) => `${formatCount(count)} ${count === 1 ? "run" : "runs"}`;

/** "about 12 min for 15 runs (10 to 15 min)", or why nothing can be said. */
export function durationWords({ runs: count, unlike, seconds, least, most }: DurationView): string {
  if (unlike === count) return "no prediction: no similar run yet";
  if (unlike > 0) return `no prediction: no similar run for ${formatCount(unlike)} of ${runs(count)} yet`;
  if (seconds === null || least === null || most === null) return "more than ten years";
  return `about ${roughly(seconds)} for ${runs(count)} (${roughly(least)} to ${roughly(most)})`;
}

/** How long the plan takes once it has its turn, on the host that takes longest; undefined where one is not known. */
export function wholeDuration({ durations }: DryRun): string | undefined {
  const hosts = new Map<string, number>();
  for (const { host, seconds } of durations) {
    if (seconds === null) return undefined;
    hosts.set(host, (hosts.get(host) ?? 0) + seconds);
  }
  return hosts.size === 0 ? undefined : `about ${roughly(Math.max(...hosts.values()))}`;
}

/** How long the planned runs of each cluster take, and what that is predicted from. */
export function DurationNote({ durations }: { durations: readonly DurationView[] }) {
  return (
    <ul className={styles.queues} data-testid="plan-durations">
      {durations.map((one) => (
        <li key={one.cluster}>
          <strong>Duration</strong>
          {durations.length > 1 && ` on ${one.cluster}`}: {durationWords(one)}
          {one.likeness && <span className={styles.basis}>from {one.likeness}; 90% interval</span>}
        </li>
      ))}
    </ul>
  );
}
