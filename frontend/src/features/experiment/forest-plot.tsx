import type { ExperimentView } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import { colorOf } from "@/lib/theme/palette";
import { VariantChip } from "@/lib/ui/variant-chip";
import { lineOf } from "./answer";
import styles from "./answer.module.css";
import { Forest, ForestAxis, forestDomain, WIDE } from "./forest";
import type { Group } from "./groups";

interface ForestPlotProps {
  experiment: ExperimentView;
  group: Group;
  /** Nothing to draw: without a target no times are compared. */
  plain: boolean;
}

/** The verdict as a drawing: each variant's ratio to the baseline with its interval, on one axis, and the same in words. */
export function ForestPlot({ experiment, group, plain }: ForestPlotProps) {
  const domain = forestDomain(group.rows.map((row) => row.speed_up));
  return (
    <ul className={plain ? styles.lines : `${styles.lines} ${styles.plot}`} data-testid="answer-lines">
      {!plain && (
        <li aria-hidden="true">
          <span />
          <span>
            <span className={styles.ways} style={{ width: WIDE }}>
              <span>slower</span>
              <span>faster</span>
            </span>
            <ForestAxis domain={domain} width={WIDE} />
          </span>
          <span />
        </li>
      )}
      {group.rows.map((row) => {
        const index = colorOf(experiment, row.variant);
        return (
          <li key={row.variant} title={isolated(row.speed_up.sentence, experiment.variants)}>
            <VariantChip name={row.variant} index={index} />
            {!plain && <Forest speedUp={row.speed_up} domain={domain} index={index} width={WIDE} mute />}
            <span>{isolated(lineOf(row), experiment.variants)}</span>
          </li>
        );
      })}
    </ul>
  );
}
