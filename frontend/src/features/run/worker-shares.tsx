import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { LineChart } from "@/lib/charts/line-chart";
import { readWorkersOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { RunView, WorkerView } from "@/lib/client/types.gen";
import { axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/axes";
import { formatNumber, formatPercent, formatPercentTick } from "@/lib/format/numbers";
import { PARTS, partStyle } from "@/lib/theme/palette";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { MeasuredSpeeds } from "./measured-speeds";
import { KindsTable, WorkersTable } from "./worker-tables";

/** What `workers.csv` has a line for each of. */
const TABLES = [
  ["updates", "updates"],
  ["time", "over time"],
  ["workers", "workers"],
  ["kinds", "kinds"],
] as const;

/** How the work is shared by the workers, as far as they differ: asked for when it is wanted. */
export function WorkerShares({ run, index }: { run: RunView; index: number }) {
  const [wanted, want] = useState(false);
  const query = useQuery({ ...readWorkersOptions({ path: { run_id: run.id } }), enabled: wanted });
  if (run.workers < 2) return null;
  const workers = query.data?.workers ?? [];
  const kinds = query.data?.kinds ?? [];
  const tables = TABLES.filter(([of]) => of !== "kinds" || kinds.length > 1);
  return (
    <Section
      title="Work by worker"
      testId="worker-shares"
      aside={
        wanted ? (
          <span>
            As CSV:
            {tables.map(([of, label]) => (
              <span key={of}>
                {" "}
                <a
                  href={`/api/v1/runs/${run.id}/workers.csv?of=${of}`}
                  download
                  aria-label={`${label}, as CSV`}
                >
                  {label}
                </a>
              </span>
            ))}
          </span>
        ) : (
          <Button size="compact-xs" variant="default" onClick={() => want(true)}>
            Show
          </Button>
        )
      }
    >
      {!wanted && (
        <Text fz={13.5} c="dimmed">
          Utilization, shares of steps and updates, batch sizes, staleness.
        </Text>
      )}
      <LoadFault what="The figures of the workers could not be loaded." query={query} />
      {query.data && <WorkersTable workers={workers} />}
      {kinds.length > 1 && <KindsTable kinds={kinds} />}
      {query.data?.virtual_cluster && <MeasuredSpeeds cluster={query.data.virtual_cluster} />}
      {workers.some((worker) => worker.sizes.length > 0) && (
        <OverTime
          run={run}
          index={index}
          title="Batch size"
          testId="chart-batch-size"
          note="steps of each update"
          workers={workers}
          points={({ x, sizes }) => ({ x, y: sizes })}
        />
      )}
      {workers.some((worker) => worker.times.length > 1) && (
        <>
          <OverTime
            run={run}
            index={index}
            title="Utilization"
            testId="chart-utilization"
            note="share of the time in which it computes, evaluations excluded"
            workers={workers}
            points={({ times, computing_over_time }) => ({ x: times, y: computing_over_time })}
            format={formatPercent}
            tick={formatPercentTick}
          />
          <OverTime
            run={run}
            index={index}
            title="Throughput"
            testId="chart-throughput"
            note="samples per second, evaluations excluded"
            workers={workers}
            points={({ times, throughput_over_time }) => ({ x: times, y: throughput_over_time })}
          />
        </>
      )}
    </Section>
  );
}

interface OverTimeProps {
  readonly run: RunView;
  /** Of its variant, for its colour. */
  readonly index: number;
  readonly title: string;
  readonly testId: string;
  readonly note: string;
  readonly workers: readonly WorkerView[];
  readonly points: (worker: WorkerView) => { x: number[]; y: (number | null)[] };
  readonly format?: (value: number) => string;
  readonly tick?: (value: number) => string;
}

/** One line per worker over the time of the run; of many, the first ones, which have patterns of their own. */
function OverTime({ run, index, title, testId, note, workers, points, format, tick }: OverTimeProps) {
  return (
    <LineChart
      title={title}
      testId={testId}
      height={220}
      note={note}
      series={workers.slice(0, PARTS.length).map((worker, part) => ({
        label: `worker ${worker.worker}${worker.kind ? ` (${worker.kind})` : ""}`,
        style: partStyle(index, part),
        ...points(worker),
      }))}
      xTitle={axisTitle("wall", run.simulated)}
      formatX={(value) => formatAxisValue("wall", value)}
      tickX={(value) => formatAxisTick("wall", value)}
      formatY={format ?? ((value) => formatNumber(value))}
      tickY={tick ?? ((value) => formatNumber(value))}
    />
  );
}
