import type { Across, ExperimentView, PooledRatio, SpeedUp } from "@/lib/client/types.gen";
import { isolated } from "@/lib/format/isolated";
import { formatNumber, formatPercent } from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { colorOf } from "@/lib/theme/palette";
import { Figure } from "@/lib/ui/figure";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import { ratioText } from "./across-table";
import { lineOf } from "./answer";
import answer from "./answer.module.css";
import { type Domain, Forest, forestDomain } from "./forest";

/** Does the order of methods change with the machine? Speed-ups per cluster, and pooled. */
export function AcrossPart({
  experiment,
  across,
}: {
  experiment: ExperimentView;
  across: readonly Across[];
}) {
  return across.map((one) => (
    <Section
      key={one.workers}
      title={`Across clusters, ${one.workers} ${one.workers === 1 ? "worker" : "workers"}`}
      testId="across"
      aside={
        one.rows.every(({ clusters }) => clusters.every(({ simulated }) => simulated)) && (
          <Tag kind="simulated" />
        )
      }
    >
      <Conclusions experiment={experiment} across={one} />
      <Table experiment={experiment} across={one} />
    </Section>
  ));
}

/** Whether the order changes with the cluster, then a line for each variant that has a mean. */
function Conclusions({ experiment, across }: { experiment: ExperimentView; across: Across }) {
  const [means, ...orders] = across.sentences;
  const rows = across.rows.filter((row) => row.pooled);
  return (
    <div className={answer.answers} data-testid="across-sentences">
      <div className={answer.answer}>
        {orders.map((sentence) => (
          <p key={sentence} className={answer.headline}>
            {isolated(sentence, experiment.variants)}
          </p>
        ))}
        {rows.length > 0 && (
          <ul className={answer.lines} aria-label={`Mean over ${across.pool.join(", ")}`}>
            {rows.map(({ variant, pooled }) => (
              <li key={variant}>
                <VariantChip name={variant} index={colorOf(experiment, variant)} />
                <span>{pooled && lineOf({ variant, speed_up: asSpeedUp(variant, pooled) })}</span>
              </li>
            ))}
          </ul>
        )}
        {rows.length > 0 ? (
          <details className={answer.full}>
            <summary>In full</summary>
            <p>{means && isolated(means, experiment.variants)}</p>
          </details>
        ) : (
          <p>{means && isolated(means, experiment.variants)}</p>
        )}
      </div>
    </div>
  );
}

/** The clusters of a comparison; by the spread of their workers' speeds, if they differ in nothing else. */
function columns({ clusters, spreads }: Across): { name: string; spread: number | undefined }[] {
  const found = clusters.map((name, at) => ({ name, spread: spreads?.[at] }));
  return spreads ? found.sort((one, other) => (one.spread ?? 0) - (other.spread ?? 0)) : found;
}

/** A title over a figure and its drawing. */
const OVER_BOTH = { textAlign: "center" } as const;

function Table({ experiment, across }: { experiment: ExperimentView; across: Across }) {
  const places = columns(across);
  const names = experiment.variants;
  const pooled = across.rows.map((row) => (row.pooled ? asSpeedUp(row.variant, row.pooled) : null));
  const all = across.rows.flatMap((row) => row.clusters.map((one) => one.speed_up));
  const domain = forestDomain([...all, ...pooled.filter((one) => one !== null)]);
  const simulated = new Set(
    across.rows.flatMap((row) => row.clusters.filter((one) => one.simulated).map((one) => one.cluster)),
  );
  return (
    <TableRegion label="Speed-ups by cluster">
      <table className={`${ui.table} ${ui.sticky}`}>
        <caption className={ui.unseen}>
          Speed-up over {experiment.baseline} on each cluster with 95% intervals over seeds, and the mean over
          clusters.
        </caption>
        <thead>
          <tr>
            <th scope="col">Variant</th>
            {places.map(({ name, spread }) => (
              <th key={name} data-number scope="col" colSpan={2} style={OVER_BOTH}>
                {name} {simulated.has(name) && <Tag kind="simulated" />}
                {spread !== undefined && (
                  <span
                    className={ui.range}
                    title="Speed of the fastest over that of the slowest worker; the clusters differ in nothing else"
                  >
                    {" "}
                    speeds 1 : {formatNumber(spread)}
                  </span>
                )}
              </th>
            ))}
            {across.pool.length > 0 && (
              <th
                data-number
                scope="col"
                colSpan={2}
                style={OVER_BOTH}
                title={`Geometric mean over ${across.pool.join(", ")}; random effects`}
              >
                mean of {across.pool.length}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {across.rows.map((row, at) => {
            const index = colorOf(experiment, row.variant);
            const mean = pooled[at];
            return (
              <tr key={row.variant} data-testid="across-row">
                <td>
                  <VariantChip name={row.variant} index={index} />
                </td>
                {places.map(({ name }) => {
                  const found = row.clusters.find((one) => one.cluster === name)?.speed_up;
                  return found ? (
                    <Cells key={name} names={names} speedUp={found} domain={domain} index={index} />
                  ) : (
                    <td key={name} colSpan={2} className={ui.range}>
                      did not run here
                    </td>
                  );
                })}
                {!mean && across.pool.length > 0 && <td colSpan={2} />}
                {mean && (
                  <Cells
                    names={names}
                    speedUp={mean}
                    domain={domain}
                    index={index}
                    note={spread(row.pooled)}
                  />
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableRegion>
  );
}

function spread(pooled: PooledRatio | null): string | undefined {
  if (pooled?.i2 === null || pooled?.i2 === undefined) return undefined;
  return `${formatPercent(pooled.i2)} of the spread is between clusters`;
}

interface CellsProps {
  /** Of the variants: a sentence about one has it in its own direction. */
  names: readonly string[];
  speedUp: SpeedUp;
  domain: Domain;
  index: number;
  note?: string | undefined;
}

function Cells(props: CellsProps) {
  const sentence = isolated(props.speedUp.sentence, props.names);
  const { value, range } = ratioText({ ...props.speedUp, ratio: estimated(props.speedUp) });
  return (
    <>
      <td className={ui.number} title={props.note}>
        <Figure value={value} range={range} />
      </td>
      <td>
        <Forest speedUp={{ ...props.speedUp, sentence }} domain={props.domain} index={props.index} />
      </td>
    </>
  );
}

/** A pooled ratio as a row of a forest plot shows it. */
function asSpeedUp(variant: string, found: PooledRatio): SpeedUp {
  const { ratio, low, high, claim, p_adjusted } = found;
  const sentence = `${variant}, mean over clusters: ${ratioText(found).value} (${ratioText(found).range})`;
  const none = { censored: 0, left_out: 0, comparisons: 0 };
  return { ratio, low, high, claim, p_adjusted, pairs: found.seeds, sentence, ...none };
}
