import { Button } from "@mantine/core";
import type { DryRun } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { wholeDuration } from "./duration-note";
import styles from "./plan-bar.module.css";
import { runs } from "./plan-panel";
import { type Startable, StartButton } from "./start-button";

interface PlanBarProps {
  plan: DryRun | undefined;
  startable: Startable;
  settled: boolean;
  failed: boolean;
  show: () => void;
}

/** On a narrow page, where the plan stands below the form: the way to what it says, and Start, always in view. */
export function PlanBar({ plan, startable, failed, settled, show }: PlanBarProps) {
  return (
    <div className={styles.bar} data-testid="plan-bar" data-settled={settled}>
      <Button size="xs" variant="default" onClick={show}>
        {said({ plan, startable, failed })}
      </Button>
      <StartButton startable={startable} size="xs" data-testid="start-here" />
    </div>
  );
}

function said({ plan, startable, failed }: Pick<PlanBarProps, "plan" | "startable" | "failed">): string {
  if (startable.problems > 0) return "Show problems";
  if (failed) return "Not checked yet";
  return plan ? inShort(plan) : "Checking…";
}

function inShort(plan: DryRun): string {
  const { runs: first, trial_runs: trials, reported_runs: reported } = plan;
  const takes = wholeDuration(plan);
  if (trials === 0) return `${formatCount(first.length)} ${runs(first.length)}${takes ? `, ${takes}` : ""}`;
  return `${formatCount(trials)} trial ${runs(trials)} at most, ${formatCount(reported)} reported`;
}
