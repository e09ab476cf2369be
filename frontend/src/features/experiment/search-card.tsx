import { useState } from "react";
import { rankColor } from "@/lib/charts/rank-color";
import type { ExperimentView, SearchView, TuningView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { edgeWords, formatValue } from "@/lib/spaces/words";
import { colorOf, variantStyle } from "@/lib/theme/palette";
import { LinkButton } from "@/lib/ui/link-button";
import { Tag } from "@/lib/ui/tag";
import { VariantChip } from "@/lib/ui/variant-chip";
import { Response } from "./response";
import { formatFigure, type Measure, widerOf } from "./trials";
import { TrialsPlot } from "./trials-plot";
import { TrialsTable } from "./trials-table";
import styles from "./tuning.module.css";

interface CardProps {
  experiment: ExperimentView;
  tuning: TuningView;
  search: SearchView;
  /** Whether it shows everything at first. */
  opened: boolean;
}

/** One search: the chosen setting, and on demand all that it rests on. */
export function SearchCard({ experiment, search, opened }: CardProps) {
  const [open, setOpen] = useState(opened);
  const [marked, mark] = useState<number>();
  const measure: Measure = experiment.spec.target ? "seconds" : "accuracy";
  const index = colorOf(experiment, search.variant);
  const searched = Object.keys(search.spaces).length > 0;
  return (
    <details
      className={styles.search}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      data-testid="search"
      data-variant={search.variant}
    >
      <summary>
        <span className={styles.who}>
          <VariantChip name={search.variant} index={index} />
          <span className={styles.where}>
            {search.cluster} · {search.workers} {search.workers === 1 ? "worker" : "workers"}
          </span>
          {search.simulated && <Tag kind="simulated" />}
        </span>
        <Chosen search={search} />
      </summary>
      {open && (
        <div className={styles.body}>
          <Edges experiment={experiment} search={search} />
          <Facts search={search} measure={measure} />
          {searched && (
            <>
              <div className={styles.charts}>
                <Response search={search} index={index} measure={measure} marked={marked} mark={mark} />
                <TrialsPlot search={search} index={index} measure={measure} marked={marked} mark={mark} />
              </div>
              <Key measure={measure} index={index} />
            </>
          )}
          <TrialsTable search={search} index={index} measure={measure} marked={marked} mark={mark} />
        </div>
      )}
    </details>
  );
}

/** The chosen setting, or how far the search is. */
function Chosen({ search }: { search: SearchView }) {
  const trial = search.trials.find((one) => one.chosen);
  if (!trial) {
    const runs = search.trials.reduce((sum, one) => sum + one.runs.length, 0);
    const going = search.trials.reduce((sum, one) => sum + one.open, 0);
    const rung = Math.max(0, ...search.trials.map((one) => one.rung));
    return (
      <span className={styles.chosen} data-testid="chosen">
        {search.ended
          ? "No trial gave a result, so no setting was chosen"
          : `rung ${rung + 1}: ${formatCount(runs - going)} of ${formatCount(runs)} runs so far have ended`}
      </span>
    );
  }
  return (
    <span className={styles.chosen} data-testid="chosen">
      <span className={styles.badge}>chosen: trial {trial.trial}</span>
      {Object.entries(trial.parameters).map(([name, value]) => (
        <span key={name} className={styles.setting} data-edge={search.edges[name]}>
          {name} <strong>{formatValue(value)}</strong>
        </span>
      ))}
    </span>
  );
}

/** Chosen values at an end of their space, and the way to look beyond. */
function Edges({ experiment, search }: Pick<CardProps, "experiment" | "search">) {
  const found = Object.entries(search.edges);
  const values = search.trials.find((one) => one.chosen)?.parameters ?? {};
  if (found.length === 0) return null;
  return (
    <div className={styles.edges} data-testid="edges">
      <ul>
        {found.map(([name, edge]) => (
          <li key={name}>
            {edgeWords(name, values[name], edge, search.spaces[name])}: a better value may lie beyond
            {search.wider[name] ? "." : "; add choices to look there."}
          </li>
        ))}
      </ul>
      {Object.keys(search.wider).length > 0 && experiment.origin && (
        <span className={styles.where}>Imported; cannot be continued here</span>
      )}
      {Object.keys(search.wider).length > 0 && !experiment.origin && (
        <LinkButton
          variant="default"
          size="xs"
          data-testid="widen"
          to="/new"
          search={{ clone: experiment.id, wider: widerOf([search]) }}
        >
          Widen and continue
        </LinkButton>
      )}
    </div>
  );
}

/** How much the setting matters, and what the search has cost. */
function Facts({ search, measure }: { search: SearchView; measure: Measure }) {
  const best = search.trials.find((one) => one.rank === 1);
  const seconds = search.simulated ? "virtual" : "";
  return (
    <dl className={styles.facts} data-testid="search-facts">
      <div>
        <dt>Best trial</dt>
        <dd>
          {formatFigure(best?.[measure] ?? null, measure)} {measure === "seconds" && best?.seconds && seconds}
        </dd>
      </div>
      {measure === "seconds" && (
        <>
          <div>
            <dt>Median trial</dt>
            <dd>
              {search.median_seconds === null && search.reached !== null
                ? "missed the target"
                : `${formatSeconds(search.median_seconds)} ${search.median_seconds === null ? "" : seconds}`}
            </dd>
          </div>
          <div>
            <dt>Reached the target</dt>
            <dd>{search.reached === null ? "–" : `${formatPercent(search.reached, 0)} of trials`}</dd>
          </div>
        </>
      )}
      <div>
        <dt>Cost of the search</dt>
        <dd>
          {formatCount(search.samples)} samples, {formatNumber(search.core_hours)} core hours
        </dd>
      </div>
    </dl>
  );
}

function Key({ measure, index }: { measure: Measure; index: number }) {
  const { color } = variantStyle(index);
  const ramp = `linear-gradient(to right in oklab, ${rankColor(color, 1, 2)}, ${rankColor(color, 2, 2)})`;
  return (
    <p className={styles.key}>
      <span>
        best <i className={styles.ramp} style={{ background: ramp }} /> last in rank
      </span>
      <span>ring, thick line: chosen</span>
      {measure === "seconds" && <span>triangle, dashed line: missed the target within its budget</span>}
      <span>cross: failed</span>
    </p>
  );
}
