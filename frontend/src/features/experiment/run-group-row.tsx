import { formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./experiment.module.css";
import own from "./run-group-row.module.css";
import type { RunGroup } from "./runs-groups";

interface RunGroupRowProps {
  group: RunGroup;
  open: boolean;
  turn: (key: string) => void;
  /** Place of its variant, which gives the colour. */
  variant: number;
  tuned: boolean;
  index?: number;
  measure?: (row: Element | null) => void;
}

/** What the runs of a variant at a place show together; pressed, it shows or hides them. */
export function RunGroupRow({ group, open, turn, variant, tuned, index, measure }: RunGroupRowProps) {
  const { first, runs, ended, failed, reported, reached } = group;
  const count = `${runs.length} ${runs.length === 1 ? "run" : "runs"}`;
  return (
    <tr
      ref={measure}
      data-index={index}
      aria-rowindex={index === undefined ? undefined : index + 2} // the head is the first
      data-testid="run-group"
      className={own.group}
    >
      <td>
        <button
          type="button"
          className={own.turn}
          aria-expanded={open}
          aria-label={`${count} of ${first.variant} on ${first.cluster} with ${first.workers} workers`}
          onClick={() => turn(group.key)}
        >
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> {count}
        </button>
      </td>
      <td>
        <VariantChip name={first.variant} index={variant} />
      </td>
      {tuned && <td />}
      <td>
        {first.cluster} <span className={styles.quiet}>× {first.workers}</span>{" "}
        {first.simulated && <Tag kind="simulated" />}
      </td>
      <td className={ui.number} />
      <td>
        {ended} of {runs.length} ended{failed > 0 && `, ${failed} failed`}
      </td>
      <td>
        <span className={styles.meter} title={`${formatPercent(group.share)} of the budget on average`}>
          <span style={{ width: `${group.share * 100}%` }} />
        </span>
      </td>
      <td className={ui.number} title="Mean of the reported runs">
        {formatPercent(group.accuracy, 2)}
      </td>
      <td className={ui.number} title="Mean of the reported runs">
        {formatPercent(group.test, 2)}
      </td>
      <td className={ui.number} title="Median of the reported runs that met the target">
        {formatSeconds(group.time)}
        {first.simulated && group.time !== null && <span className={styles.quiet}> virtual</span>}
        {reached > 0 && reached < reported && (
          <span className={styles.quiet}>
            {" "}
            ({reached} of {reported})
          </span>
        )}
      </td>
      <td className={ui.number} title="Mean of the reported runs">
        {formatPercent(group.communication)}
      </td>
    </tr>
  );
}
