import { LineChart } from "@/lib/charts/line-chart";
import type { Calibration, ComputeRate, Curve } from "@/lib/client/types.gen";
import { formatBytes, formatNumber, formatPercent } from "@/lib/format/numbers";
import { formatMoment, formatSeconds } from "@/lib/format/time";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./calibration.module.css";
import { curveName, curveSeries, grouped } from "./curves";

/** Load from which on other processes count as having disturbed the measurement. */
const SHARED_LOAD = 0.5;

/** Facts, curves, lines and gradients of one calibration. */
export function Measured({ calibration }: { calibration: Calibration }) {
  const { messages, memory, together } = grouped(calibration);
  const { at, workers, hosts, cores, took, start, load, hardware, versions } = calibration;
  return (
    <>
      <Section title="Measured" testId="measured">
        {load >= SHARED_LOAD && (
          <p className={styles.failure}>
            Other processes were running (load {load.toFixed(1)}): an idle machine would give other figures.
          </p>
        )}
        {calibration.oversubscribed && (
          <p className={screen.intro}>
            More ranks than cores: times are what an operation adds to the steps of ranks that share cores.
          </p>
        )}
        <dl className={styles.facts}>
          <Fact name="When">{`${formatMoment(at)}, in ${formatSeconds(took)}`}</Fact>
          <Fact name="Ranks">{`${workers} on ${hosts} ${hosts === 1 ? "host" : "hosts"} of ${cores} cores`}</Fact>
          <Fact name="Processor">{String(hardware.cpu ?? "unknown")}</Fact>
          <Fact name="MPI">{versions.mpi ?? "unknown"}</Fact>
          <Fact name="Start-up">{`${formatSeconds(start.seconds)} ± ${formatSeconds(start.error)}`}</Fact>
        </dl>
        <p className={styles.meaning}>Times are medians ± one standard error.</p>
      </Section>
      {messages.length > 0 && (
        <Section title="Messages">
          <Chart title="Time by size" curves={messages} testId="message-curves" />
        </Section>
      )}
      {together.length > 0 && (
        <Section title={`All-reduces and all-gathers of ${workers} ranks`}>
          <Chart title="Time by size of the vector" curves={together} testId="sum-curves" />
        </Section>
      )}
      {memory.length > 0 && (
        <Section title="Memory and one-sided operations">
          <Chart title="Time by size" curves={memory} testId="memory-curves" />
        </Section>
      )}
      <Section title="Fitted lines" testId="lines">
        <p className={screen.note}>Seconds = alpha × messages + beta × bytes.</p>
        <Lines curves={calibration.curves} />
      </Section>
      {calibration.compute.map((rate) => (
        <Gradients key={`${rate.workload} ${rate.precision}`} rate={rate} />
      ))}
    </>
  );
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Chart({ title, curves, testId }: { title: string; curves: readonly Curve[]; testId: string }) {
  return (
    <>
      <p className={styles.legend}>
        {curves.map((curve, index) => (
          <VariantChip key={curveName(curve)} name={curveName(curve)} index={index} />
        ))}
      </p>
      <LineChart
        title={title}
        testId={testId}
        series={curveSeries(curves)}
        xTitle="Bytes"
        formatX={(value) => formatBytes(10 ** value)}
        tickX={(value) => atPowers(value, formatBytes)}
        formatY={(value) => formatSeconds(10 ** value)}
        tickY={(value) => atPowers(value, formatSeconds)}
        note="logarithmic axes; bands: ±1.96 standard errors; thin, dashed: fitted"
        height={320}
      />
    </>
  );
}

/** The label of a tick on a logarithmic axis: powers of ten only. */
function atPowers(value: number, format: (value: number) => string): string {
  return Math.abs(value - Math.round(value)) < 1e-6 ? format(10 ** value) : "";
}

function Lines({ curves }: { curves: readonly Curve[] }) {
  return (
    <TableRegion label="Table of fitted lines">
      <table className={`${ui.table} ${ui.sticky}`}>
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th data-number scope="col" className={ui.number}>
              Per message (alpha)
            </th>
            <th data-number scope="col" className={ui.number}>
              Per byte (beta)
            </th>
            <th data-number scope="col" className={ui.number}>
              Bandwidth
            </th>
            <th data-number scope="col" className={ui.number}>
              Median misfit
            </th>
          </tr>
        </thead>
        <tbody>
          {curves.flatMap((curve) => {
            const { line } = curve;
            if (!line) return [];
            return (
              <tr key={curveName(curve)}>
                <td>{curveName(curve)}</td>
                <td className={ui.number}>
                  {formatSeconds(line.alpha)} ± {formatSeconds(line.alpha_error)}
                </td>
                <td className={ui.number}>
                  {formatNumber(line.beta * 1e9)} ± {formatNumber(line.beta_error * 1e9, 2)} ns
                </td>
                <td className={ui.number}>{line.beta > 0 ? `${formatBytes(1 / line.beta)}/s` : "–"}</td>
                <td className={ui.number}>{formatPercent(line.misfit, 0)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableRegion>
  );
}

/** All-reduces of all weights by halving, and accesses to a window, among gradients. */
function amongGradients(found: NonNullable<ComputeRate["exchanging"]>): [string, string][] {
  return [
    ["Gradient after an all-reduce of all weights", plusMinus(found.after)],
    ["That all-reduce, on the last rank", plusMinus(found.last)],
    ["It adds to a step", plusMinus(found.added)],
    [`It adds to ${found.period} gradients`, plusMinus(found.late)],
    ["In the background, it adds to a gradient", plusMinus(found.behind)],
    ...(found.hidden
      ? [
          [
            `In the background, it adds to ${found.hidden_period} gradients`,
            plusMinus(found.hidden),
          ] satisfies [string, string],
        ]
      : []),
    ...(found.shifted
      ? [
          ["A message of all weights to the next rank adds to a step", plusMinus(found.shifted)] satisfies [
            string,
            string,
          ],
        ]
      : []),
    ["A read of a window and an addition add to a step", plusMinus(found.accessed)],
  ];
}

function Gradients({ rate }: { rate: ComputeRate }) {
  const { workload, precision, elements, points, line, alone, loop, loop_batch, jitter, exchanging } = rate;
  const together = points.find(({ batch }) => batch === loop_batch);
  const rows: [string, string][] = [
    ...points.map(({ batch, seconds, error }): [string, string] => [
      `Gradient of ${batch} samples, all ranks at once`,
      `${formatSeconds(seconds)} ± ${formatSeconds(error)}`,
    ]),
    [`Gradient of ${loop_batch} samples, one rank alone`, plusMinus(alone)],
    ["Per step", `${formatSeconds(line.alpha)} ± ${formatSeconds(line.alpha_error)}`],
    ["Per sample", `${formatSeconds(line.beta)} ± ${formatSeconds(line.beta_error)}`],
    [`Step in a run, without exchange, ${loop_batch} samples`, plusMinus(loop)],
    ["All ranks at once over alone", together ? `${formatNumber(together.seconds / alone.seconds)}×` : "–"],
    ["Jitter from gradient to gradient", formatPercent(jitter.independent)],
    [`Jitter kept for ${jitter.steps} gradients`, formatPercent(jitter.slow)],
    ["Jitter common to all ranks", formatPercent(jitter.common)],
    ["Difference between ranks", formatPercent(jitter.between_ranks)],
    ...(exchanging ? amongGradients(exchanging) : []),
  ];
  return (
    <Section title={`Gradients of ${workload}, ${precision}, ${elements.toLocaleString("en")} weights`}>
      <TableRegion label={`Gradients of ${workload}, ${precision}`}>
        <table className={`${ui.table} ${styles.rows}`} data-testid="gradients">
          <tbody>
            {rows.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className={ui.number}>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Section>
  );
}

function plusMinus({ seconds, error }: { seconds: number; error: number }): string {
  return `${formatSeconds(seconds)} ± ${formatSeconds(error)}`;
}
