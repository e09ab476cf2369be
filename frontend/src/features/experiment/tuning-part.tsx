import { Skeleton } from "@mantine/core";
import type { ExperimentView, TuningView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import styles from "./experiment.module.css";
import { SearchCard } from "./search-card";
import { ladderWords, progressOf } from "./trials";
import own from "./tuning.module.css";
import { useTuning } from "./use-experiment";

/** How the settings were, or are being, chosen: a card for each search. */
export function TuningPart({ experiment }: { experiment: ExperimentView }) {
  const query = useTuning(experiment.id);
  const tuning = query.data;
  return (
    <Section title="Tuning" testId="tuning" aside={tuning && <State tuning={tuning} />}>
      {query.isError && !tuning && (
        <ErrorPanel what="The tuning could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {query.isPending && <Skeleton height={160} />}
      {tuning && (
        <>
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
          <p className={styles.foot}>
            Per variant {ladderWords(tuning)}
            {experiment.spec.target &&
              tuning.rungs.length > 1 &&
              "; a trial that met the target is not run again"}
            . Trials have tuning seeds, which no reported run has: their figures choose a setting and are no
            result.
          </p>
        </>
      )}
    </Section>
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
