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

/** What may be said so far, in a sentence for each group, and the figures behind it. */
export function Verdict({ experiment, comparison, groups, group }: VerdictProps) {
  return (
    <Section
      title="Verdict"
      testId="verdict"
      aside={
        <span className={styles.aside}>
          {comparison?.target ? `Target: ${comparison.target}` : "No target: final figures are compared"}
          {comparison && !comparison.complete && <em> · provisional, runs are still going</em>}
        </span>
      }
    >
      <div
        className={styles.sentences}
        data-testid="verdict-sentences"
        data-complete={comparison?.complete ?? false}
      >
        {groups.map((one) => (
          <div key={one.key} className={styles.sentence} data-chosen={one.key === group?.key}>
            <div className={styles.sentenceHead}>
              {groupLabel(one)}
              {one.simulated && <Tag kind="simulated" />}
              {one.oversubscribed && <Tag kind="oversubscribed" />}
            </div>
            <p>{one.sentence ?? "Nothing can be said yet."}</p>
          </div>
        ))}
      </div>
      <div className={styles.picker}>
        <GroupPicker groups={groups} group={group} />
      </div>
      <ComparisonTable experiment={experiment} group={group} />
    </Section>
  );
}
