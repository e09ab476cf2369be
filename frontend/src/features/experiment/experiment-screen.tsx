import { Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, useMemo } from "react";
import { statusOf } from "@/lib/api/problem";
import type { ExperimentView } from "@/lib/client/types.gen";
import { withoutSpaces } from "@/lib/spaces/begun";
import { GoneNote } from "@/lib/ui/gone-note";
import { JsonView } from "@/lib/ui/json-view";
import { lazily } from "@/lib/ui/lazily";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useTitle } from "@/lib/ui/use-title";
import { AcrossPart } from "./across-part";
import { followsSteps } from "./added-charts";
import { Curves } from "./curves";
import { ExperimentHeader } from "./experiment-header";
import { ExperimentPlaceholder } from "./experiment-placeholder";
import { chosenGroup, groupsOf } from "./groups";
import { Phases } from "./phases";
import { RunsTable } from "./runs-table";
import { ScalingPart } from "./scaling-part";
import { TuningPart } from "./tuning-part";
import { useComparison, useExperiment } from "./use-experiment";
import { useLiveExperiment } from "./use-live-experiment";
import { Verdict } from "./verdict";
import { Warnings } from "./warnings";

const route = getRouteApi("/experiments/$experimentId");
const VersionsPart = lazily(async () => (await import("./versions-part")).VersionsPart);

/** One experiment, live: verdict, curves, phases, runs. */
export function ExperimentScreen() {
  const { experimentId } = route.useParams();
  const query = useExperiment(experimentId);
  // what changes with every zoom is no part of these: the page is rendered where they change
  const axis = route.useSearch({ select: (search) => search.axis ?? "clock" });
  const steps = route.useSearch({ select: followsSteps });
  useLiveExperiment(experimentId, axis, steps);
  const gone = statusOf(query.error) === 404;
  useTitle(query.data?.name ?? (gone ? "Experiment not found" : "Experiment"));
  // what is selected, asked or cancelled on the page of one experiment is nothing of the next
  if (query.data)
    return (
      <>
        {gone && <GoneNote what="this experiment" />}
        <Page key={query.data.id} experiment={query.data} />
      </>
    );
  if (gone) return <Missing />;
  if (query.isError) {
    return (
      <>
        <h1 className={screen.title}>Experiment</h1>
        <LoadFault what="The experiment could not be loaded." query={query} />
      </>
    );
  }
  return <ExperimentPlaceholder />;
}

function Page({ experiment }: { experiment: ExperimentView }) {
  const cluster = route.useSearch({ select: (search) => search.cluster });
  const workers = route.useSearch({ select: (search) => search.workers });
  const tab = route.useSearch({ select: (search) => search.tab });
  const versions = route.useSearch({ select: (search) => search.versions });
  const comparison = useComparison(experiment.id);
  const groups = useMemo(() => groupsOf(comparison.data), [comparison.data]);
  const group = chosenGroup(groups, cluster, workers);
  return (
    <>
      <ExperimentHeader experiment={experiment} />
      <Warnings experiment={experiment} />
      {tab === "json" && (
        <Section title="Specification">
          <Specification experiment={experiment} />
        </Section>
      )}
      {versions !== undefined && (
        <Suspense>
          <VersionsPart key={experiment.version} experiment={experiment} shown={versions} />
        </Suspense>
      )}
      {!comparison.data && <LoadFault what="The comparison could not be computed." query={comparison} />}
      <Verdict experiment={experiment} comparison={comparison.data} groups={groups} group={group} />
      <AcrossPart experiment={experiment} across={comparison.data?.across ?? []} />
      {experiment.spec.tuning && <TuningPart experiment={experiment} />}
      <Curves experiment={experiment} groups={groups} group={group} />
      <Phases experiment={experiment} group={group} />
      <ScalingPart experiment={experiment} />
      <RunsTable experiment={experiment} />
    </>
  );
}

function Missing() {
  return (
    <Message
      page
      title="Experiment not found"
      testId="not-found"
      action={<LinkButton to="/">All experiments</LinkButton>}
    >
      No experiment has this id. It may belong to another instance of Hooke or to another data folder.
    </Message>
  );
}

/** What was submitted, and apart from it what the server has written into it. */
function Specification({ experiment }: { experiment: ExperimentView }) {
  const { spec, spaces } = withoutSpaces(experiment.spec);
  return (
    <>
      <JsonView value={spec} label="Specification as JSON" />
      {spaces && (
        <>
          <Text fz={13} c="dimmed" mt={16}>
            Search spaces of all of its trials (tuning.spaces), whatever the algorithms declare now.
          </Text>
          <JsonView value={spaces} label="Search spaces as JSON" />
        </>
      )}
    </>
  );
}
