import { Skeleton } from "@mantine/core";
import type { Comparison, ExperimentView } from "@/lib/client/types.gen";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import { ComparisonTable } from "./comparison-table";
import styles from "./experiment.module.css";
import { GroupPicker } from "./group-picker";
import { type Group, groupLabel } from "./groups";

interface VerdictProps {
  experiment: ExperimentView;
  comparison: Comparison | undefined;
  groups: readonly Group[];
  group: Group | undefined;
}

/** As tall as what will stand here, so that nothing below it moves. */
function Placeholder({ experiment }: { experiment: ExperimentView }) {
  const sentences = experiment.spec.clusters.reduce(
    (sum, cluster) => sum + (cluster.workers?.length ?? 1),
    0,
  );
  return <Skeleton height={sentences * 119 + experiment.variants.length * 67 + 110} />;
}

/** What may be said so far, in a sentence for each group, and the figures behind it. */
export function Verdict({ experiment, comparison, groups, group }: VerdictProps) {
  return (
    <Section title="Verdict" testId="verdict" aside={comparison && <Aside comparison={comparison} />}>
      {comparison ? (
        <>
          {(groups.length > 0 || !experiment.spec.tuning) && (
            <Sentences complete={comparison.complete} groups={groups} group={group} />
          )}
          {groups.length === 0 && experiment.spec.tuning && <Unmeasured comparison={comparison} />}
          <p className={styles.effort} data-testid="effort">
            {comparison.tuning}
          </p>
          <div className={styles.picker}>
            <GroupPicker groups={groups} group={group} />
          </div>
          <ComparisonTable experiment={experiment} group={group} without={comparison.note !== null} />
        </>
      ) : (
        <Placeholder experiment={experiment} />
      )}
    </Section>
  );
}

/** While, or because, no chosen setting has runs. */
function Unmeasured({ comparison }: { comparison: Comparison }) {
  const said = comparison.complete ? comparison.sentences : [];
  return (
    <div className={styles.later} data-testid="unmeasured">
      {said.length > 0
        ? said.map((sentence) => <p key={sentence}>{sentence}</p>)
        : "Reported runs begin once trials have chosen the settings."}
    </div>
  );
}

function Aside({ comparison }: { comparison: Comparison }) {
  return (
    <span className={styles.aside}>
      {comparison.target ? `Target: ${comparison.target}` : "No target: final figures are compared"}
      {comparison.note && <em data-testid="parts"> · {comparison.note}</em>}
      {!comparison.complete && <em> · provisional, runs are still going</em>}
    </span>
  );
}

/** Lines that a provisional verdict takes on a wide screen: reserved, so that nothing below moves as it changes. */
function linesOf(group: Group): number {
  return Math.ceil(group.rows.length * 0.8);
}

function Sentences({
  complete,
  groups,
  group,
}: Pick<VerdictProps, "groups" | "group"> & { complete: boolean }) {
  return (
    <div className={styles.sentences} data-testid="verdict-sentences" data-complete={complete}>
      {groups.map((one) => (
        <div key={one.key} className={styles.sentence} data-chosen={one.key === group?.key}>
          <div className={styles.sentenceHead}>
            {groupLabel(one)}
            {one.simulated && <Tag kind="simulated" />}
            {one.oversubscribed && <Tag kind="oversubscribed" />}
          </div>
          <p style={{ minHeight: `${linesOf(one)}lh` }}>{one.sentence ?? "Nothing can be said yet."}</p>
        </div>
      ))}
    </div>
  );
}
