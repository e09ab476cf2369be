import { Button, Group } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { EditMarks } from "@/lib/keeping/edit-marks";
import { refusal } from "@/lib/people/roles";
import { useMe, useRefusal } from "@/lib/people/use-me";
import { ProjectPicker } from "@/lib/projects/project-picker";
import { useProjects } from "@/lib/projects/use-projects";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LinkButton } from "@/lib/ui/link-button";
import { useNow } from "@/lib/ui/use-now";
import { ViewsMenu } from "@/lib/views/views-menu";
import { DeletedList } from "./deleted-list";
import { Empty, NothingFits, Placeholder } from "./empty";
import styles from "./experiments.module.css";
import { ExperimentsList } from "./experiments-list";
import { FilterField, useFilterFields } from "./filter-field";
import { type Import, ImportButton, ImportFault, useImport } from "./import-button";
import { OutcomeNote } from "./outcome-note";
import { SelectionBar } from "./selection-bar";
import { useActions } from "./use-actions";
import { useExperiments } from "./use-experiments";

const route = getRouteApi("/");

/** All experiments, newest first, or those that fit a filter. */
export function ExperimentsScreen() {
  const { show } = route.useSearch();
  useEffect(() => {
    document.title = "Experiments · Hooke";
  }, []);
  return show === "deleted" ? <Deleted /> : <Present />;
}

function Present() {
  const { filter, project } = route.useSearch();
  const navigate = route.useNavigate();
  const { query, fault, items } = useExperiments(filter, project);
  const projects = useProjects();
  const actions = useActions();
  const importing = useImport(project);
  const me = useMe();
  const now = useNow();
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [edited, setEdited] = useState<string>();
  const tags = useFilterFields().find((field) => field.name === "tag")?.values;

  const chosen = items.filter((item) => ids.has(item.id));
  const choose = (item: ExperimentSummary, wanted: boolean) => {
    const next = new Set(ids);
    if (wanted) next.add(item.id);
    else next.delete(item.id);
    setIds(next);
  };
  if (query.isSuccess && !query.isPlaceholderData && items.length === 0 && !filter && !project)
    return (
      <>
        <Empty act={importing} />
        <OutcomeNote outcome={actions.outcome} onClose={actions.dismiss} />
      </>
    );
  return (
    <>
      <Head act={importing} project={project} />
      <ProjectPicker
        projects={projects}
        value={project}
        all="All projects"
        onChange={(next) => void navigate({ search: { filter, project: next } })}
      />
      <FilterField
        filter={filter ?? ""}
        error={fault}
        onChange={(text) => void navigate({ search: { filter: text || undefined, project }, replace: true })}
      />
      <SelectionBar
        chosen={chosen}
        busy={actions.busy}
        refused={chosen.map((item) => refusal(me, "researcher", item.user)).find(Boolean)}
        act={(action, some) => {
          setIds(new Set());
          void actions.run(action, some);
        }}
        clear={() => setIds(new Set())}
      />
      {query.isError && !fault && (
        <ErrorPanel what="The list could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {query.isPending && <Placeholder />}
      {query.isSuccess && items.length === 0 && <NothingFits clear={() => void navigate({ search: {} })} />}
      <ExperimentsList
        items={items}
        complete={!query.hasNextPage}
        stale={query.isPlaceholderData || fault !== undefined}
        now={now}
        chosen={ids}
        choose={choose}
        act={(action, item) => void actions.run(action, [item])}
        edit={setEdited}
      />
      {query.hasNextPage && (
        <Group justify="center" mt={24}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Load more
          </Button>
        </Group>
      )}
      <p className={styles.foot}>
        <LinkButton to="/" search={{ show: "deleted" }} variant="subtle" size="compact-sm">
          Deleted experiments
        </LinkButton>
      </p>
      {edited && <EditMarks experiment={edited} known={tags} onClose={() => setEdited(undefined)} />}
      <OutcomeNote outcome={actions.outcome} onClose={actions.dismiss} />
    </>
  );
}

function Deleted() {
  const actions = useActions();
  return (
    <>
      <Group justify="space-between" align="center" mb={22}>
        <h1 className={styles.title}>Deleted experiments</h1>
        <LinkButton to="/" search={{}} variant="default">
          All experiments
        </LinkButton>
      </Group>
      <DeletedList
        now={useNow()}
        busy={actions.busy}
        restore={(item) => void actions.run("restore", [item])}
      />
      <OutcomeNote outcome={actions.outcome} onClose={actions.dismiss} />
    </>
  );
}

function Head({ act, project }: { act: Import; project: string | undefined }) {
  const maySubmit = useRefusal("researcher") === undefined;
  return (
    <>
      <Group justify="space-between" align="center" mb={16}>
        <h1 className={styles.title}>Experiments</h1>
        <Group gap={8}>
          <ViewsMenu />
          {maySubmit && (
            <>
              <ImportButton act={act} />
              <LinkButton to="/new" search={{ project }} data-testid="new-experiment">
                New experiment
              </LinkButton>
            </>
          )}
        </Group>
      </Group>
      <ImportFault act={act} />
    </>
  );
}
