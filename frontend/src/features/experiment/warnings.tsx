import type { ExperimentView } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import { formatCount } from "@/lib/format/numbers";
import { withCode } from "@/lib/ui/code";
import styles from "./warnings.module.css";

/** What was said of the experiment when it was submitted. */
export function Warnings({ experiment }: { experiment: ExperimentView }) {
  const { warnings } = experiment;
  if (warnings.length === 0) return null;
  return (
    <details className={styles.warnings} data-testid="experiment-warnings">
      <summary>
        {warnings.length === 1 ? "1 warning" : `${formatCount(warnings.length)} warnings`} when it was
        submitted
      </summary>
      <ul>
        {warnings.map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            {isolated(variantOf(experiment, pointer), experiment.variants)}
            {withCode(isolated(message, experiment.variants))}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** "Sync EASGD: " where the place is inside a variant. */
function variantOf(experiment: ExperimentView, pointer: string): string {
  const index = /^\/variants\/(\d+)/.exec(pointer)?.[1];
  const name = index === undefined ? undefined : experiment.variants[Number(index)];
  return name === undefined ? "" : `${name}: `;
}
