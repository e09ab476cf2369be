import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { statusOf } from "@/lib/api/problem";
import { readQueueOptions, readQueueQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { ActiveView, QueueView } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { formatSpan } from "@/lib/format/time";
import { ClusterMissing } from "@/lib/ui/cluster-missing";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useNow } from "@/lib/ui/use-now";
import { useTitle } from "@/lib/ui/use-title";
import { PolicyForm } from "./policy-form";
import styles from "./queue.module.css";
import { QueueTable } from "./queue-table";

const route = getRouteApi("/clusters/$clusterName/queue");
const AGAIN = 15_000;

/** The queue of one cluster, live: who is served, who waits and why, under which policy. */
export function QueueScreen() {
  const { clusterName: name } = route.useParams();
  const path = { name };
  const query = useQuery({ ...readQueueOptions({ path }), refetchInterval: AGAIN });
  const refresh = useRefresh(readQueueQueryKey({ path }), 1000);
  useStream({}, (event) => {
    if (event.kind !== "logs" && event.kind !== "points") refresh();
  });
  const missing = !query.data && statusOf(query.error) === 404;
  useTitle(missing ? "Cluster not found" : `Queue of ${name}`);
  if (missing) return <ClusterMissing name={name} />;
  return (
    <>
      <h1 className={screen.title}>Queue of {name}</h1>
      {!query.data && <LoadFault what="The queue could not be loaded." query={query} />}
      {query.isPending && <Skeleton height={240} mt={24} />}
      {query.data && <Page queue={query.data} changed={refresh} />}
    </>
  );
}

function Page({ queue, changed }: { queue: QueueView; changed: () => void }) {
  const state = queue.drained ? "drained: starts no runs" : queue.online ? "online" : "offline";
  return (
    <>
      <p className={styles.facts} data-testid="queue-facts">
        <span>{state}</span>
        <span>
          {queue.free} of {queue.slots} slots free
        </span>
      </p>
      <Active queue={queue} />
      <Section title="Waiting">
        <QueueTable entries={queue.entries} active={queue.active.length > 0} changed={changed} />
      </Section>
      <Section title="Policy">
        <PolicyForm key={JSON.stringify(queue.policy)} cluster={queue.cluster} policy={queue.policy} />
      </Section>
    </>
  );
}

function Active({ queue }: { queue: QueueView }) {
  const now = useNow();
  if (queue.active.length === 0) return <p className={styles.quiet}>No runs are active.</p>;
  return (
    <ul className={styles.active} data-testid="queue-active">
      {queue.active.map((each) => (
        <li key={each.experiment}>
          <Link to="/experiments/$experimentId" params={{ experimentId: each.experiment }}>
            Experiment {each.number}
          </Link>{" "}
          of {each.user}: {amount(each)}, {each.ends ? `end ${formatSpan(each.ends, now)}` : "end unknown"}
        </li>
      ))}
    </ul>
  );
}

/** How many runs of an experiment occupy the cluster: those of a launch take turns. */
function amount({ runs, sent = 0 }: ActiveView) {
  const begun = runs - sent;
  const parts = begun > 0 ? [`${begun} active ${begun === 1 ? "run" : "runs"}`] : [];
  if (sent > 0) parts.push(`${sent} sent and not begun`);
  return parts.join(", ");
}
