import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { LineChart } from "@/lib/charts/line-chart";
import { readWorkersOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { RunView, WorkerView } from "@/lib/client/types.gen";
import { formatCount, formatNumber, formatPercent } from "@/lib/format/numbers";
import { axisTitle, formatAxisTick, formatAxisValue } from "@/lib/format/quantities";
import { variantStyle } from "@/lib/theme/palette";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import styles from "./run.module.css";

/** More lines than this cannot be told apart. */
const LINES = 12;

/** How the work is shared by the workers, as far as they differ: asked for when it is wanted. */
export function WorkerShares({ run }: { run: RunView }) {
  const [wanted, want] = useState(false);
  const query = useQuery({ ...readWorkersOptions({ path: { run_id: run.id } }), enabled: wanted });
  if (run.workers < 2) return null;
  const workers = query.data?.workers ?? [];
  return (
    <Section
      title="Work by worker"
      testId="worker-shares"
      aside={
        wanted ? (
          <a href={`/api/v1/runs/${run.id}/workers.csv`} download>
            All updates as CSV
          </a>
        ) : (
          <Button size="compact-xs" variant="default" onClick={() => want(true)}>
            Show
          </Button>
        )
      }
    >
      {!wanted && (
        <p className={styles.quiet}>Utilisation, shares of steps and updates, batch sizes, staleness.</p>
      )}
      {query.isError && (
        <ErrorPanel
          what="The work of the workers could not be read."
          error={query.error}
          retry={() => query.refetch()}
        />
      )}
      {query.data && <Shares workers={workers} />}
      {workers.some((worker) => worker.sizes.length > 0) && (
        <LineChart
          title="Batch size"
          testId="chart-batch-size"
          height={220}
          note="steps of each update"
          series={workers.slice(0, LINES).map((worker) => ({
            label: `worker ${worker.worker}`,
            style: variantStyle(worker.worker),
            x: worker.x,
            y: worker.sizes,
          }))}
          xTitle={axisTitle("wall", run.simulated)}
          formatX={(value) => formatAxisValue("wall", value)}
          tickX={(value) => formatAxisTick("wall", value)}
          formatY={formatNumber}
          tickY={formatNumber}
        />
      )}
    </Section>
  );
}

function Shares({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <TableRegion label="Work by worker">
      <table>
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col">Computing</th>
            <th scope="col" title="Batches per second of computing, over the fastest worker's; measured">
              Speed
            </th>
            <th scope="col">Steps</th>
            <th scope="col">Share of steps</th>
            <th scope="col">Updates</th>
            <th scope="col">Share of updates</th>
            <th scope="col">Mean staleness</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <tr key={worker.worker}>
              <td>{worker.worker}</td>
              <td>{formatPercent(worker.computing)}</td>
              <td>{formatNumber(worker.speed)}</td>
              <td>{formatCount(worker.steps)}</td>
              <td>{formatPercent(worker.share_of_steps)}</td>
              <td>{formatCount(worker.updates)}</td>
              <td>{formatPercent(worker.share_of_updates)}</td>
              <td>{formatNumber(worker.staleness)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
