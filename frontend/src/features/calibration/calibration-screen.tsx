import { Button, Group, Skeleton } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { statusOf } from "@/lib/api/problem";
import {
  cancelCalibrationMutation,
  listCalibrationsOptions,
  startCalibrationMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { CalibrationView } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { formatMoment } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { useMay } from "@/lib/people/use-me";
import { ClusterMissing } from "@/lib/ui/cluster-missing";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useTitle } from "@/lib/ui/use-title";
import styles from "./calibration.module.css";
import { Measured } from "./measured";
import { USUALLY, WhatToMeasure } from "./what-to-measure";

const route = getRouteApi("/clusters/$name/calibration");
const STATES = {
  queued: ["Queued.", "It starts when the cluster is online and its active run has ended."],
  running: [
    "Measuring.",
    "It takes about a minute after its ranks have started. The cluster starts no runs meanwhile.",
  ],
  cancelling: ["Cancelling.", "It ends when the agent confirms it."],
} as const;

function isOpen(state: string): state is keyof typeof STATES {
  return state in STATES;
}

/** What was measured on a cluster, and the button that measures again. */
export function CalibrationScreen() {
  const { name } = route.useParams();
  const options = listCalibrationsOptions({ path: { name } });
  const query = useQuery(options);
  const client = useQueryClient();
  const start = useMutation({
    ...startCalibrationMutation(),
    onSettled: () => client.invalidateQueries({ queryKey: options.queryKey }),
  });
  const cancel = useMutation({
    ...cancelCalibrationMutation(),
    onSettled: () => client.invalidateQueries({ queryKey: options.queryKey }),
  });
  const mayStart = useMay("operator");
  const [asked, setAsked] = useState(USUALLY);
  const refresh = useRefresh(options.queryKey, 1000);
  useStream({}, (event) => {
    if (event.kind === "clusters" || event.kind === "reset") refresh();
  });
  const missing = !query.data && statusOf(query.error) === 404;
  useTitle(missing ? "Cluster not found" : `Calibration of ${name}`);
  if (missing) return <ClusterMissing name={name} />;
  const items = query.data?.items ?? [];
  const open = items.find(({ state }) => isOpen(state));
  const latest = items.find(({ calibration }) => calibration !== null);
  const failed = items[0]?.state === "failed" ? items[0] : undefined;
  return (
    <>
      <Group justify="space-between" align="baseline" gap={12}>
        <h1 className={screen.title}>Calibration of {name}</h1>
        <Group gap={8} wrap="nowrap" align="stretch">
          {latest && (
            <LinkButton to="/new" variant="default">
              New experiment
            </LinkButton>
          )}
          <Allowed least="operator">
            <Button
              onClick={() => start.mutate({ path: { name }, body: asked })}
              disabled={open !== undefined}
              loading={start.isPending}
              data-testid="calibrate"
            >
              Calibrate
            </Button>
          </Allowed>
        </Group>
      </Group>
      <p className={screen.intro}>
        Latency, bandwidth, all-reduces, memory and gradients, measured by ranks of this cluster. A virtual
        cluster with <code>like: {name}</code> takes its constants from the latest calibration; choose Add
        virtual cluster in a new experiment.
      </p>
      {mayStart && <WhatToMeasure asked={asked} change={setAsked} />}
      <LoadFault what="The calibrations could not be loaded." query={query} />
      {start.isError && <ErrorPanel what="The calibration could not be started." error={start.error} />}
      {cancel.isError && <ErrorPanel what="The calibration could not be cancelled." error={cancel.error} />}
      {open && (
        <Open
          view={open}
          pending={cancel.isPending}
          cancel={() => cancel.mutate({ path: { name, calibration_id: open.id } })}
        />
      )}
      {failed && (
        <p className={styles.failure} role="alert" data-testid="calibration-failure">
          <strong>The latest calibration failed.</strong> {failed.why}
        </p>
      )}
      {query.isPending && <Skeleton height={260} mt={24} />}
      {query.data && !latest && !open && (
        <p className={screen.intro} data-testid="calibration-none">
          This cluster has not been calibrated yet.
        </p>
      )}
      {latest?.calibration && (
        <>
          <Drift view={latest} />
          <Measured calibration={latest.calibration} />
        </>
      )}
      {items.length > 1 && <Earlier items={items} />}
    </>
  );
}

/** A calibration that has not ended: what it does, in the words of agent and scheduler, and its cancel. */
function Open({ view, pending, cancel }: { view: CalibrationView; pending: boolean; cancel: () => void }) {
  const [title, usual] = STATES[isOpen(view.state) ? view.state : "running"];
  return (
    <Group align="baseline" gap="8px 16px">
      <p className={screen.intro} role="status" data-testid="calibration-state">
        <strong>{title}</strong> {usual} {view.why && <span className={styles.words}>Now: {view.why}</span>}
      </p>
      {view.state !== "cancelling" && (
        <Allowed least="operator">
          <Button
            variant="default"
            size="compact-sm"
            onClick={cancel}
            loading={pending}
            data-testid="calibration-cancel"
          >
            Cancel
          </Button>
        </Allowed>
      )}
    </Group>
  );
}

/** What has changed since the calibration before. */
function Drift({ view }: { view: CalibrationView }) {
  if (view.drift.length === 0) return null;
  return (
    <Section title="Drift" testId="drift">
      <ul className={styles.list}>
        {view.drift.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Section>
  );
}

function Earlier({ items }: { items: readonly CalibrationView[] }) {
  return (
    <Section title="All calibrations" testId="calibrations">
      <TableRegion label="Table of calibrations">
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">Requested</th>
              <th scope="col">State</th>
              <th scope="col">Ranks</th>
              <th scope="col">Workloads</th>
              <th scope="col">Drift</th>
            </tr>
          </thead>
          <tbody>
            {items.map(({ id, created_at, state, workers, workloads, drift, why }) => (
              <tr key={id}>
                <td>{formatMoment(created_at)}</td>
                <td>{state}</td>
                <td>{workers}</td>
                <td>{workloads.join(", ")}</td>
                <td className={styles.cell}>{why || drift[0] || ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
    </Section>
  );
}
