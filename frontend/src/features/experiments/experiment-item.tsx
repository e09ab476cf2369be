import { Link } from "@tanstack/react-router";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";
import { predicted, reasonOf } from "@/lib/queue/waiting-note";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { progress } from "@/lib/ui/states";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiments.module.css";

/** What the list can say of the outcome without reading a single point. */
function hint({ state, baseline, runs }: ExperimentSummary): string {
  const failed = (runs.failed_user ?? 0) + (runs.failed_infra ?? 0);
  if (failed > 0) return `${failed} run${failed > 1 ? "s" : ""} failed`;
  if (state === "succeeded") return `verdict ready, against ${baseline}`;
  if (state === "cancelled") return "cancelled before its verdict";
  return `baseline ${baseline}`;
}

export function ExperimentItem({ item, now }: { item: ExperimentSummary; now: number }) {
  const { done, all } = progress(item.runs);
  return (
    <li className={styles.item} data-testid="experiment-item" data-id={item.id}>
      <div className={styles.main}>
        <Link to="/experiments/$experimentId" params={{ experimentId: item.id }} className={styles.name}>
          {item.name}
        </Link>
        <div className={styles.chips}>
          {item.variants.map((name, index) => (
            <VariantChip key={name} name={name} index={index} />
          ))}
        </div>
        <div className={styles.facts}>
          <span>#{item.number}</span>
          <span>{item.workload}</span>
          <span>{item.clusters.join(", ")}</span>
          <span>{hint(item)}</span>
          <time dateTime={item.created_at} title={formatMoment(item.created_at)}>
            {formatAge(item.created_at, now)}
          </time>
        </div>
        {item.waiting.map((each) => (
          <div key={each.cluster} className={styles.facts} data-testid="item-waiting">
            <span>
              {each.runs} {each.runs === 1 ? "run waits" : "runs wait"} on {each.cluster}: {reasonOf(each)}
            </span>
            <span>{predicted(each, now)}</span>
          </div>
        ))}
      </div>
      <div className={styles.progress}>
        <StateBadge state={item.state} />
        <span className={styles.count}>
          {done} / {all} runs
        </span>
        <RunBar runs={item.runs} />
      </div>
    </li>
  );
}
