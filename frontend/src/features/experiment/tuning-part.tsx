import { Skeleton, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ExperimentView, TuningView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import styles from "./experiment.module.css";
import { SearchCard } from "./search-card";
import { ladderWords, progressOf, widerOf } from "./trials";
import own from "./tuning.module.css";
import { useTuning } from "./use-experiment";

/** How the settings were, or are being, chosen: a card for each search. */
export function TuningPart({ experiment }: { experiment: ExperimentView }) {
  const query = useTuning(experiment.id);
  const tuning = query.data;
  return (
    <Section title="Tuning" testId="tuning" aside={tuning && <State tuning={tuning} />}>
      {!tuning && <LoadFault what="The tuning could not be loaded." query={query} />}
      {query.isPending && <Skeleton height={160} />}
      {tuning && (
        <>
          <WidenAll experiment={experiment} tuning={tuning} />
          <Continued tuning={tuning} />
          <div className={own.searches}>
            {tuning.searches.map((search, index) => (
              <SearchCard
                key={`${search.variant}\n${search.cluster}\n${search.workers}`}
                experiment={experiment}
                tuning={tuning}
                search={search}
                opened={index === 0}
              />
            ))}
          </div>
          <Text fz={12.5} c="dimmed" maw="92ch" mt={16}>
            Per variant {tuning.tuning.continues ? "another " : ""}
            {ladderWords(tuning)}
            {experiment.spec.target &&
              tuning.rungs.length > 1 &&
              "; a trial that met the target is not run again"}
            . Trials use tuning seeds, which no reported run has: their figures only choose a setting and are
            not results.
          </Text>
        </>
      )}
    </Section>
  );
}

/** Where several searches chose at an edge: one click for all of them. */
function WidenAll({ experiment, tuning }: { experiment: ExperimentView; tuning: TuningView }) {
  const wider = widerOf(tuning.searches);
  const count = wider.reduce((sum, { spaces }) => sum + Object.keys(spaces).length, 0);
  if (experiment.origin) return null;
  if (tuning.searches.filter((search) => Object.keys(search.wider).length > 0).length < 2) return null;
  return (
    <div className={own.edges} data-testid="widen-all">
      <span>
        {count} {count === 1 ? "choice lies" : "choices lie"} at the edge of a space. The experiment that
        continues this one reuses the trials made so far.
      </span>
      <LinkButton variant="default" size="xs" to="/new" search={{ clone: experiment.id, wider }}>
        Widen all and continue
      </LinkButton>
    </div>
  );
}

/** Where the first trials come from, if another experiment made them. */
function Continued({ tuning }: { tuning: TuningView }) {
  const id = tuning.tuning.continues;
  if (!id) return null;
  return (
    <Text fz={13} c="dimmed" mb={12} data-testid="continues">
      Continues{" "}
      <Link to="/experiments/$experimentId" params={{ experimentId: id }}>
        another experiment
      </Link>{" "}
      and reuses its trials for every variant.
    </Text>
  );
}

function State({ tuning }: { tuning: TuningView }) {
  const { ended, most, rung } = progressOf(tuning);
  if (tuning.complete) {
    return (
      <span className={styles.aside} data-testid="tuning-state">
        Complete: {formatCount(ended)} trial {ended === 1 ? "run" : "runs"}
      </span>
    );
  }
  return (
    <span className={`${styles.aside} ${own.state}`} data-testid="tuning-state">
      {formatCount(ended)} of at most {formatCount(most)} trial runs
      {tuning.rungs.length > 1 && `, rung ${rung} of ${tuning.rungs.length}`}
      <span className={styles.meter}>
        <span style={{ width: `${(100 * ended) / Math.max(1, most)}%` }} />
      </span>
    </span>
  );
}
