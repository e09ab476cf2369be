import { Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { statusOf } from "@/lib/api/problem";
import type { RunView } from "@/lib/client/types.gen";
import { colorOf } from "@/lib/theme/palette";
import { GoneNote } from "@/lib/ui/gone-note";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { useTitle } from "@/lib/ui/use-title";
import { Environment } from "./environment";
import { FilesPart } from "./files-part";
import { HeatMap } from "./heat-map";
import { History } from "./history";
import { Logs } from "./logs";
import { RankPhases } from "./rank-phases";
import { RunCurves } from "./run-curves";
import { RunHeader } from "./run-header";
import { SpecPart } from "./spec-part";
import { Staleness } from "./staleness";
import { SystemPart } from "./system-part";
import { TimelinePart } from "./timeline-part";
import { useExperimentOf, useLiveRun, useRun } from "./use-run";
import { WorkerShares } from "./worker-shares";

const route = getRouteApi("/runs/$runId");

/** One run, live: state and history, curves, phases per rank, log, specification. */
export function RunScreen() {
  const { runId } = route.useParams();
  const query = useRun(runId);
  useLiveRun(runId);
  const gone = statusOf(query.error) === 404;
  const found = query.data && `Run #${query.data.number} · ${query.data.variant}`;
  useTitle(found ?? (gone ? "Run not found" : "Run"));
  if (query.data)
    return (
      <>
        {gone && <GoneNote what="this run" />}
        {/* nothing of one run stands on the page of the next */}
        <Page key={query.data.id} run={query.data} />
      </>
    );
  if (gone) return <Missing />;
  if (query.isError) {
    return (
      <>
        <h1 className={screen.title}>Run</h1>
        <LoadFault what="The run could not be loaded." query={query} />
      </>
    );
  }
  return (
    <div aria-busy="true">
      <Skeleton height={28} width="42%" />
      <Skeleton height={64} mt={24} />
      <Skeleton height={320} mt={44} />
    </div>
  );
}

function Page({ run }: { run: RunView }) {
  const experiment = useExperimentOf(run.experiment_id);
  const index = experiment.data ? colorOf(experiment.data, run.variant) : 0;
  return (
    <>
      <RunHeader run={run} index={index} experiment={experiment.data} />
      <History run={run} />
      <RunCurves run={run} index={index} target={experiment.data?.spec.target ?? undefined} />
      <TimelinePart run={run} />
      <RankPhases run={run} />
      <HeatMap run={run} />
      <Staleness run={run} />
      <WorkerShares run={run} index={index} />
      <SystemPart run={run} index={index} />
      <Logs run={run} />
      <FilesPart run={run} />
      <SpecPart run={run} />
      <Environment run={run} />
    </>
  );
}

function Missing() {
  return (
    <Message
      page
      title="Run not found"
      testId="not-found"
      action={<LinkButton to="/">All experiments</LinkButton>}
    >
      No run has this id. It may belong to another instance of Hooke or to another data folder.
    </Message>
  );
}
