import { Group as Row, Skeleton, Text } from "@mantine/core";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import type { Comparison, ExperimentView } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import { AddSeeds } from "./add-seeds";
import { headlineOf } from "./answer";
import own from "./answer.module.css";
import { ComparisonTable } from "./comparison-table";
import styles from "./experiment.module.css";
import { lackingSeeds } from "./extending";
import { ForestPlot } from "./forest-plot";
import { forestSvg } from "./forest-svg";
import { GroupPicker } from "./group-picker";
import { type Group, groupLabel } from "./groups";
import { notShown } from "./not-shown";
import { forestSheet } from "./verdict-sheets";

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
  return <Skeleton height={sentences * 88 + experiment.variants.length * 82 + 275} />;
}

/** What may be said so far: who is fastest in each group, the forest plot of the chosen one, and the figures behind it. */
export function Verdict({ experiment, comparison, groups, group }: VerdictProps) {
  return (
    <Section title="Verdict" testId="verdict" aside={comparison && <Aside comparison={comparison} />}>
      {comparison ? (
        <>
          {(groups.length > 0 || !experiment.spec.tuning) && (
            <Answers experiment={experiment} comparison={comparison} groups={groups} group={group} />
          )}
          {groups.length === 0 && experiment.spec.tuning && (
            <Unmeasured comparison={comparison} names={experiment.variants} />
          )}
          <Text fz={13} lh={1.5} c="dimmed" maw="92ch" mt={-12} mb={22} data-testid="effort">
            {comparison.tuning}
          </Text>
          {comparison.extended && (
            <Text fz={13} lh={1.5} c="dimmed" maw="92ch" mt={-12} mb={22} data-testid="extended">
              {isolated(comparison.extended, experiment.variants)}
            </Text>
          )}
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
function Unmeasured({ comparison, names }: { comparison: Comparison; names: readonly string[] }) {
  const said = comparison.complete ? comparison.sentences : [];
  return (
    <div className={styles.later} data-testid="unmeasured">
      {said.length > 0
        ? said.map((sentence) => <p key={sentence}>{isolated(sentence, names)}</p>)
        : "Reported runs start when the trials have chosen the settings."}
    </div>
  );
}

function Aside({ comparison }: { comparison: Comparison }) {
  return (
    <span className={styles.aside}>
      {comparison.target ? `Target: ${comparison.target}` : "No target: final figures are compared"}
      {comparison.note && <em data-testid="parts"> · {comparison.note}</em>}
      {!comparison.complete && <em> · provisional: runs have not all ended</em>}
    </span>
  );
}

interface AnswersProps {
  experiment: ExperimentView;
  comparison: Comparison;
  groups: readonly Group[];
  group: Group | undefined;
}

/** Who is fastest on each cluster; of the chosen one, the plot with a line for each variant, and what it does not show. */
function Answers({ experiment, comparison, groups, group }: AnswersProps) {
  return (
    <div className={own.answers} data-testid="verdict-sentences" data-complete={comparison.complete}>
      {groups.map((one) => (
        <div key={one.key} className={own.answer} data-chosen={one.key === group?.key}>
          <Row gap={8} fz={12.5} c="dimmed">
            {groupLabel(one)}
            {one.simulated && <Tag kind="simulated" />}
            {one.oversubscribed && <Tag kind="oversubscribed" />}
            {one.overlapped && <Tag kind="overlapped" />}
            {one.key === group?.key && comparison.target !== null && (
              <Away experiment={experiment} group={one} />
            )}
          </Row>
          <p className={own.headline}>{isolated(headlineOf(one, comparison), experiment.variants)}</p>
          {one.key === group?.key && (
            <>
              <ForestPlot experiment={experiment} group={one} plain={comparison.target === null} />
              <NotShown comparison={comparison} group={one} names={experiment.variants} />
              <Lacking experiment={experiment} comparison={comparison} group={one} />
              <details className={own.full}>
                <summary>In full</summary>
                <p>{isolated(one.sentence ?? "No verdict yet.", experiment.variants)}</p>
              </details>
            </>
          )}
        </div>
      ))}
    </div>
  );
}

/** Takes the forest plot away, or shows it as a table. */
function Away({ experiment, group }: { experiment: ExperimentView; group: Group }) {
  const of = `Speed-up over ${experiment.baseline}: ${groupLabel(group)}`;
  const title = `${of}${group.simulated ? " (simulated)" : ""}`;
  return (
    <span className={own.away}>
      <DrawingMenu
        of={of}
        host={() => forestSvg(group, experiment, title)}
        sheet={() => forestSheet(group)}
      />
    </span>
  );
}

function NotShown(props: { comparison: Comparison; group: Group; names: readonly string[] }) {
  const open = notShown(props.group, props.comparison);
  return open.length === 0 ? null : (
    <p className={own.note} data-testid="not-shown">
      Not shown: {isolated(open.join("; "), props.names)}.
    </p>
  );
}

/** How many seeds would show a ratio that matters, and a button that adds them. */
function Lacking({ experiment, comparison, group }: { group: Group } & Omit<AnswersProps, "groups">) {
  const lacking = lackingSeeds(group.rows);
  if (!lacking) return null;
  return (
    <div className={own.lacking} data-testid="lacking-seeds">
      About {lacking.needed} seeds would show a ratio of 1.3.
      <AddSeeds experiment={experiment} comparison={comparison} more={lacking.more} small />
    </div>
  );
}
