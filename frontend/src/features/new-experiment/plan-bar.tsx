import { Button } from "@mantine/core";
import type { DryRun, Fault } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import styles from "./plan-bar.module.css";
import { runs } from "./plan-panel";

interface PlanBarProps {
  plan: DryRun | undefined;
  faults: readonly Fault[];
  settled: boolean;
  failed: boolean;
  show: () => void;
}

/** On a narrow page, where the plan stands below the form: what it says, always in view, and the way to it. */
export function PlanBar({ plan, faults, failed, settled, show }: PlanBarProps) {
  return (
    <div className={styles.bar} data-testid="plan-bar" data-settled={settled}>
      <span>{failed ? inTheWay(faults.length) : plan ? inShort(plan) : "Checking…"}</span>
      <Button size="xs" variant="default" onClick={show}>
        Plan and start
      </Button>
    </div>
  );
}

function inTheWay(count: number): string {
  if (count === 0) return "Not checked";
  return count === 1 ? "1 fault to correct" : `${count} faults to correct`;
}

function inShort({ runs: first, trial_runs: trials, reported_runs: reported }: DryRun): string {
  if (trials === 0) return `${formatCount(first.length)} ${runs(first.length)}`;
  return `${formatCount(trials)} trial ${runs(trials)} at most, ${formatCount(reported)} reported`;
}
