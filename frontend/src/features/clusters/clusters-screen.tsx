import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { listClustersOptions } from "@/lib/client/@tanstack/react-query.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { useRefusal } from "@/lib/people/use-me";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { useTitle } from "@/lib/ui/use-title";
import { AddCluster } from "./add-cluster";
import { ClusterPart } from "./cluster-part";

/** The clusters that have joined: state, equipment, tokens; and how to join another one. */
export function ClustersScreen() {
  const query = useQuery({ ...listClustersOptions(), refetchInterval: 10_000 });
  const refresh = useRefresh(listClustersOptions().queryKey, 500);
  useStream({}, (event) => {
    if (event.kind === "clusters" || event.kind === "run" || event.kind === "reset") refresh();
  });
  const mayOperate = useRefusal("operator") === undefined;
  useTitle("Clusters");
  return (
    <>
      <h1 className={screen.title}>Clusters</h1>
      <p className={screen.intro}>
        Places where runs execute. The agent of a cluster reports every ten seconds and takes one launch at a
        time, so that timed runs do not share cores.
      </p>
      <LoadFault what="The clusters could not be loaded." query={query} />
      {query.isPending && <Skeleton height={220} mt={24} />}
      {query.data?.items.length === 0 && (
        <p className={screen.note}>No cluster has joined yet. Without one, no run can start.</p>
      )}
      {query.data?.items.map((cluster) => (
        <ClusterPart key={cluster.name} cluster={cluster} />
      ))}
      {mayOperate && <AddCluster />}
    </>
  );
}
