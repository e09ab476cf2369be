import { Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { cancelExperimentMutation, readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { formatAge, formatMoment, formatSeconds } from "@/lib/format/time";
import { ExperimentMarks } from "@/lib/keeping/experiment-marks";
import { Allowed } from "@/lib/people/allowed";
import { DEFAULT } from "@/lib/projects/use-projects";
import { ConfirmButton } from "@/lib/ui/confirm-button";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LinkButton } from "@/lib/ui/link-button";
import { OriginNote } from "@/lib/ui/origin-note";
import { RunBar } from "@/lib/ui/run-bar";
import { StateBadge } from "@/lib/ui/state-badge";
import { isTerminal, progress } from "@/lib/ui/states";
import { useNow } from "@/lib/ui/use-now";
import { ViewsMenu } from "@/lib/views/views-menu";
import { AddSeeds } from "./add-seeds";
import { AddVariants } from "./add-variants";
import styles from "./experiment.module.css";
import { ExperimentExport } from "./experiment-export";
import { MoveButton } from "./move-button";
import { Name } from "./name";
import { inTableOrder } from "./runs-order";
import { useComparison } from "./use-experiment";
import { useParquet } from "./use-parquet";
import { WaitingPart } from "./waiting-part";

const route = getRouteApi("/experiments/$experimentId");

export function ExperimentHeader({ experiment }: { experiment: ExperimentView }) {
  const add = route.useSearch({ select: (search) => search.add });
  const sort = route.useSearch({ select: (search) => search.sort });
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const cancel = useMutation({
    ...cancelExperimentMutation(),
    onSuccess: (view) => {
      client.setQueryData(readExperimentQueryKey({ path: { experiment_id: view.id } }), view);
    },
  });
  const runs = { experiment: experiment.id, ...inTableOrder(sort, experiment.archived) };
  const parquet = useParquet(runs);
  const comparison = useComparison(experiment.id);
  const path = { experiment_id: experiment.id };
  const cancelling = experiment.cancelling || cancel.isPending || cancel.isSuccess;
  return (
    <header>
      <Group className={styles.head} justify="space-between" align="flex-start" gap="12px 24px">
        <Name experiment={experiment} />
        <Group gap={8}>
          {!isTerminal(experiment.state) && (
            <Allowed least="researcher" of={experiment.user}>
              <ConfirmButton
                label={cancelling ? "Cancelling" : "Cancel"}
                question="Cancel all runs of this experiment that have not ended? Measured data is kept."
                confirm="Cancel the runs"
                busy={cancelling}
                act={() => cancel.mutate({ path })}
                testId="cancel-experiment"
              />
            </Allowed>
          )}
          <AddSeeds
            experiment={experiment}
            comparison={comparison.data}
            asked={add === "seeds"}
            answered={() =>
              navigate({
                search: (old) => ({ ...old, add: undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          />
          <AddVariants experiment={experiment} />
          <LinkButton variant="default" data-testid="clone" to="/new" search={{ clone: experiment.id }}>
            Clone
          </LinkButton>
          <LinkButton
            variant="default"
            data-testid="compare"
            to="/compare"
            search={{ rows: [String(experiment.number)] }}
          >
            Compare with…
          </LinkButton>
          <LinkButton
            variant="default"
            data-testid="json"
            to="/experiments/$experimentId"
            params={{ experimentId: experiment.id }}
            search={(old) => ({ ...old, tab: old.tab === "json" ? undefined : "json" })}
            resetScroll={false}
          >
            JSON
          </LinkButton>
          <ExperimentExport experiment={experiment} parquet={parquet} runs={runs} />
          <ViewsMenu />
        </Group>
      </Group>
      {experiment.description && <p className={styles.description}>{experiment.description}</p>}
      <Facts experiment={experiment} cancelling={cancelling} />
      <ExperimentMarks experiment={experiment}>
        <MoveButton experiment={experiment} />
      </ExperimentMarks>
      <WaitingPart experiment={experiment} />
      {cancel.isError && <ErrorPanel what="The experiment could not be cancelled." error={cancel.error} />}
      {parquet.isError && <ErrorPanel what="The Parquet file could not be created." error={parquet.error} />}
    </header>
  );
}

function Facts({ experiment, cancelling }: { experiment: ExperimentView; cancelling: boolean }) {
  const now = useNow();
  const { done, all } = progress(experiment.runs);
  const { spec } = experiment;
  const batch = spec.batch ?? 32;
  return (
    <Group gap="8px 24px" mt={14} mih={24} fz={13.5} c="dimmed">
      <StateBadge state={experiment.state} testId="experiment-state" cancelling={cancelling} />
      <span className={styles.progress}>
        <span data-testid="progress">
          {done} of {all} runs
        </span>
        <RunBar runs={experiment.runs} />
      </span>
      <span>#{experiment.number}</span>
      {(experiment.version ?? 1) > 1 && (
        <Link
          to="/experiments/$experimentId"
          params={{ experimentId: experiment.id }}
          search={(old) => ({ ...old, versions: old.versions === undefined ? 0 : undefined })}
          resetScroll={false}
          title="Seeds or variants were added after submission: what, when and by whom"
          data-testid="version"
        >
          version {experiment.version}
        </Link>
      )}
      {experiment.project !== DEFAULT && <span title="Project">{experiment.project}</span>}
      <OriginNote origin={experiment.origin} />
      <span>{experiment.workload}</span>
      <span>
        {formatCount(spec.budget.samples)} samples, batch {batch}
      </span>
      <time dateTime={experiment.created_at} title={formatMoment(experiment.created_at)}>
        {experiment.finished_at
          ? `took ${formatSeconds((Date.parse(experiment.finished_at) - Date.parse(experiment.created_at)) / 1000)}, ${formatAge(experiment.finished_at, now)}`
          : `${experiment.state === "queued" ? "submitted" : "started"} ${formatAge(experiment.created_at, now)}`}
      </time>
    </Group>
  );
}
