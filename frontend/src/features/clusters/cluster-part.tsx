import { Button, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import {
  drainClusterMutation,
  listClustersQueryKey,
  removeClusterMutation,
  resumeClusterMutation,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ClusterView } from "@/lib/client/types.gen";
import { hardwareRows } from "@/lib/format/hardware";
import { formatSeconds } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { useMay } from "@/lib/people/use-me";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import ui from "@/lib/ui/ui.module.css";
import { useNow } from "@/lib/ui/use-now";
import styles from "./clusters.module.css";
import { OccupancyPart } from "./occupancy-part";
import { clusterState } from "./state";
import { Tokens } from "./tokens";

/** Clocks that are less apart are not told apart from the way of a request, s. */
const CLOCKS = 1;

function clockWords(offset: number): string {
  return `its clock is ${formatSeconds(Math.abs(offset))} ${offset > 0 ? "ahead of" : "behind"} the server's`;
}

/** One cluster: what can be done with it, and what its agent reports. */
export function ClusterPart({ cluster }: { cluster: ClusterView }) {
  const state = clusterState(cluster, useNow());
  const mayOperate = useMay("operator");
  return (
    <Section
      title={cluster.name}
      testId={`cluster-${cluster.name}`}
      aside={
        <Allowed least="operator">
          <Operations cluster={cluster} />
        </Allowed>
      }
    >
      <p className={styles.facts}>
        <span className={`${ui.state} ${ui[state.tone]}`} data-testid="cluster-state">
          <span className={ui.dot} />
          {state.words}
        </span>
        <span>launcher {cluster.launcher}</span>
        {cluster.machine_shared_with.length > 0 && (
          <span title="They take turns: only one of them times runs at any moment.">
            on one machine with {cluster.machine_shared_with.join(", ")}
          </span>
        )}
        {Math.abs(cluster.clock_offset ?? 0) >= CLOCKS && (
          <span title="Only shown: the clock of the server's database decides.">
            {clockWords(cluster.clock_offset ?? 0)}
          </span>
        )}
        <Link to="/clusters/$clusterName/queue" params={{ clusterName: cluster.name }}>
          Queue and policy
        </Link>
        <Link to="/clusters/$name/calibration" params={{ name: cluster.name }}>
          Calibration
        </Link>
      </p>
      <OccupancyPart cluster={cluster.name} />
      <div className={styles.tables}>
        <Facts title="Hardware" rows={hardwareRows(cluster.hardware)} />
        <Facts title="Versions" rows={Object.entries(cluster.versions)} />
      </div>
      <Notes title="Data sets not found by its agent" entries={Object.entries(cluster.missing_data)} />
      <Notes
        title="Files that could not be loaded"
        entries={cluster.problems.map(({ kind, name, file, error }) => [
          `${kind} ${name}`,
          `${file}: ${error}`,
        ])}
      />
      {mayOperate && <Tokens cluster={cluster.name} />}
    </Section>
  );
}

function Facts({ title, rows }: { title: string; rows: [string, string][] }) {
  return (
    <div>
      <h3 className={styles.heading}>{title}</h3>
      <dl className={styles.list}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** What is not as it should be, each with the reason and the remedy. */
function Notes({ title, entries }: { title: string; entries: [string, string][] }) {
  if (entries.length === 0) return null;
  return (
    <details className={styles.notes}>
      <summary>
        {title}: {entries.map(([name]) => name).join(", ")}
      </summary>
      <dl>
        {entries.map(([name, why]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{why}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Operations({ cluster }: { cluster: ClusterView }) {
  const client = useQueryClient();
  const again = { onSuccess: () => client.invalidateQueries({ queryKey: listClustersQueryKey() }) };
  const drain = useMutation({ ...drainClusterMutation(), ...again });
  const resume = useMutation({ ...resumeClusterMutation(), ...again });
  const remove = useMutation({ ...removeClusterMutation(), ...again });
  const path = { name: cluster.name };
  const failed = [drain, resume, remove].find((each) => each.isError);
  return (
    <div className={styles.operations}>
      <Group gap={8}>
        {cluster.draining ? (
          <Button
            variant="default"
            loading={resume.isPending}
            onClick={() => resume.mutate({ path })}
            data-testid="resume"
          >
            Resume
          </Button>
        ) : (
          <Button
            variant="default"
            loading={drain.isPending}
            onClick={() => drain.mutate({ path })}
            title="Send no new runs; runs that were sent continue."
            data-testid="drain"
          >
            Drain
          </Button>
        )}
        <ConfirmButton
          label="Remove"
          question={`Remove ${cluster.name} and revoke its tokens? Its runs stay readable. To join again, it needs a new token.`}
          keep="Keep it"
          confirm="Remove the cluster"
          busy={remove.isPending}
          act={() => remove.mutate({ path })}
          testId="remove"
        />
      </Group>
      {failed && <ErrorPanel what="The change could not be made." error={failed.error} />}
    </div>
  );
}
