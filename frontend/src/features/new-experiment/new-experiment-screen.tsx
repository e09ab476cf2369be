import { Skeleton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import {
  listAlgorithmsOptions,
  listClustersOptions,
  listWorkloadsOptions,
  readExperimentOptions,
  readExperimentQueryKey,
} from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import type { Json } from "@/lib/json/document";
import { whyNoVariants } from "@/lib/keeping/extensible";
import { useRefusal } from "@/lib/people/use-me";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { useTitle } from "@/lib/ui/use-title";
import { Builder } from "./builder";
import { clonedFrom, emptyDraft } from "./draft";
import { FIRST, placed } from "./examples";
import { Extension } from "./extension";
import { continuing } from "./searched";
import { extendingKey } from "./use-extension";

const route = getRouteApi("/new");

/** Define a comparison, for those who may submit one. */
export function NewExperimentScreen() {
  const why = useRefusal("researcher");
  if (why === undefined) return <Definition />;
  return (
    <Message page title="New experiment" testId="may-not-submit">
      {why}
    </Message>
  );
}

/** Wait for the catalogues (and the experiment to clone or to extend), then show the form. */
function Definition() {
  const { clone, example, algorithm, extend, wider, project } = route.useSearch();
  const given = extend ?? clone;
  const title = extend ? "Add variants" : "New experiment";
  const algorithms = useQuery(listAlgorithmsOptions());
  const workloads = useQuery(listWorkloadsOptions());
  const clusters = useQuery(listClustersOptions());
  const original = useQuery({
    ...readExperimentOptions({ path: { experiment_id: given ?? "" } }),
    enabled: given !== undefined,
  });
  const client = useQueryClient();
  const refresh = useRefresh(listClustersOptions().queryKey, 2000);
  const again = useRefresh(readExperimentQueryKey({ path: { experiment_id: extend ?? "" } }), 2000);
  useStream({}, (event) => {
    if (event.kind === "clusters") refresh();
    // the event of what is being added here comes before its answer
    if (event.kind === "experiment" && event.id === extend)
      if (client.isMutating({ mutationKey: extendingKey(extend) }) === 0) again();
  });
  useTitle(title);
  const failed = [algorithms, workloads, clusters, original].find((query) => query.isError && !query.data);
  if (failed) {
    return (
      <>
        <h1 className={screen.title}>{title}</h1>
        <LoadFault what="The form could not be loaded." query={failed} />
      </>
    );
  }
  if (!algorithms.data || !workloads.data || !clusters.data || (given && !original.data)) {
    return (
      <div aria-busy="true">
        <Skeleton height={28} width={260} />
        <Skeleton height={220} mt={44} />
        <Skeleton height={320} mt={44} />
      </div>
    );
  }
  if (extend && original.data) {
    const why = whyNoVariants(original.data);
    if (why) return <NotExtended experiment={original.data} why={why} />;
    const { data: experiment } = original;
    const catalogues = { algorithms: algorithms.data, workloads: workloads.data.items };
    return <Extension key={`${extend} ${experiment.version}`} experiment={experiment} {...catalogues} />;
  }
  const empty = emptyDraft(
    algorithms.data.items,
    workloads.data.items,
    clusters.data.items[0]?.name ?? "local",
    algorithm,
  );
  const cloned: Json | undefined = original.data && clonedFrom(original.data);
  const names = clusters.data.items.map(({ name }) => name);
  const start: Json = cloned ?? (example ? placed(FIRST.document, names) : empty);
  const of = `${clone ?? example ?? algorithm ?? ""} ${JSON.stringify(wider) ?? ""}`.trim();
  return (
    <Builder
      key={of}
      of={of}
      project={project ?? original.data?.project}
      original={cloned}
      begun={original.data?.spec.tuning?.spaces}
      start={clone && wider ? continuing(start, clone, wider) : start}
      algorithms={algorithms.data}
      workloads={workloads.data.items}
      clusters={clusters.data.items}
    />
  );
}

function NotExtended({ experiment, why }: { experiment: ExperimentView; why: string }) {
  return (
    <Message
      page
      title="No variants can be added"
      testId="not-extended"
      action={
        <LinkButton to="/experiments/$experimentId" params={{ experimentId: experiment.id }}>
          Back to the experiment
        </LinkButton>
      }
    >
      #{experiment.number} <bdi>{experiment.name}</bdi>: {why}
    </Message>
  );
}
