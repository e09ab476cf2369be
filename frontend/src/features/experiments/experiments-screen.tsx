import { Button, Group } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Suspense, useCallback, useMemo, useState } from "react";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { FilterField, useFilterFields } from "@/lib/filter/filter-field";
import { refusal } from "@/lib/people/roles";
import { useMe, useRefusal } from "@/lib/people/use-me";
import { useProjects } from "@/lib/projects/use-projects";
import { lazily } from "@/lib/ui/lazily";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { useNow } from "@/lib/ui/use-now";
import { useTitle } from "@/lib/ui/use-title";
import { ViewsMenu } from "@/lib/views/views-menu";
import { addressOf, gridOf, shownIn } from "./columns";
import { NothingFits, Placeholder } from "./empty";
import styles from "./experiments.module.css";
import { ExperimentsList, widths } from "./experiments-list";
import { ExportButton } from "./export-button";
import { type Import, ImportButton, ImportFault, useImport } from "./import-button";
import { orderIn, sorted, sortOf } from "./order";
import { OrderRow } from "./order-row";
import type { ExperimentsSearch } from "./search";
import { type Action, type Outcome, useActions } from "./use-actions";
import { useChosen } from "./use-chosen";
import { useExperiments } from "./use-experiments";

const ProjectPicker = lazily(() =>
  import("@/lib/projects/project-picker").then((part) => part.ProjectPicker),
);
const FirstLook = lazily(() => import("./first-look").then((part) => part.FirstLook));
const TightNote = lazily(() => import("@/lib/projects/quota-note").then((part) => part.TightNote));
const Deleted = lazily(() => import("./deleted-screen").then((part) => part.DeletedScreen));
const Note = lazily(() => import("./outcome-note").then((part) => part.OutcomeNote));
const SelectionBar = lazily(() => import("./selection-bar").then((part) => part.SelectionBar));
const CompareChosen = lazily(() => import("./compare-chosen").then((part) => part.CompareChosen));
const EditMarks = lazily(() => import("@/lib/keeping/edit-marks").then((part) => part.EditMarks));
const route = getRouteApi("/");

/** All experiments, or those that fit a filter, in an order. */
export function ExperimentsScreen() {
  const { show } = route.useSearch();
  useTitle("Experiments");
  if (show !== "deleted") return <Present />;
  return (
    <Suspense>
      <Deleted />
    </Suspense>
  );
}

function Present() {
  const { filter, project, sort, columns } = route.useSearch();
  const navigate = route.useNavigate();
  const order = useMemo(() => orderIn(sort), [sort]);
  const shown = useMemo(() => shownIn(columns), [columns]);
  const whole = sortOf(order) !== undefined;
  const { query, fault, items: read, cut } = useExperiments(filter, project, whole);
  const projects = useProjects();
  const { run, busy, outcome, dismiss } = useActions();
  const importing = useImport(project);
  const me = useMe();
  const now = useNow();
  const items = useMemo(() => sorted(read, order, now), [read, order, now]);
  const { ids, chosen, ...selection } = useChosen(items);
  const [edited, setEdited] = useState<string>();
  const tags = useFilterFields().find((field) => field.name === "tag")?.values;

  const act = useCallback((action: Action, item: ExperimentSummary) => void run(action, [item]), [run]);
  const look = (part: ExperimentsSearch, replace = false) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace });
  if (query.isSuccess && !query.isPlaceholderData && items.length === 0 && !filter && !project)
    return (
      <>
        <Suspense fallback={<Placeholder />}>
          <FirstLook act={importing} />
        </Suspense>
        <OutcomeNote outcome={outcome} onClose={dismiss} />
      </>
    );
  return (
    <>
      <Head act={importing} project={project} />
      {projects.length > 1 && (
        <Suspense>
          <ProjectPicker
            projects={projects}
            value={project}
            all="All projects"
            onChange={(next) => look({ project: next })}
          />
        </Suspense>
      )}
      {projects.some(({ quota }) => quota) && (
        <Suspense>
          <TightNote projects={projects} of={project} />
        </Suspense>
      )}
      <FilterField
        filter={filter ?? ""}
        error={fault}
        onChange={(text) => look({ filter: text || undefined }, true)}
      />
      {chosen.length > 0 && (
        <Suspense>
          <SelectionBar
            chosen={chosen}
            projects={projects}
            busy={busy}
            refused={chosen.map((item) => refusal(me, "researcher", item.user)).find(Boolean)}
            act={(action, some) => {
              selection.clear();
              void run(action, some);
            }}
            compare={<CompareChosen chosen={chosen} />}
            all={chosen.length < items.length ? selection.all : undefined}
            clear={selection.clear}
          />
        </Suspense>
      )}
      {!fault && <LoadFault what="The experiments could not be loaded." query={query} />}
      {query.isSuccess && items.length === 0 && (
        <NothingFits clear={() => look({ filter: undefined, project: undefined })} />
      )}
      <div style={widths(gridOf(shown))}>
        {(items.length > 0 || query.isPending) && (
          <OrderRow
            order={order}
            shown={shown}
            sort={(next) => look({ sort: sortOf(next) }, true)}
            show={(next) => look({ columns: addressOf(next) }, true)}
          />
        )}
        {query.isPending && <Placeholder />}
        {cut && <p className={styles.nothing}>Only the newest {items.length} experiments are sorted.</p>}
        <ExperimentsList
          items={items}
          complete={!query.hasNextPage}
          stale={query.isPlaceholderData || fault !== undefined || (whole && query.hasNextPage)}
          now={now}
          shown={shown}
          me={me}
          chosen={ids}
          choose={selection.choose}
          act={act}
          edit={setEdited}
        />
      </div>
      {query.hasNextPage && !whole && (
        <Group justify="center" mt={24}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
            Load more
          </Button>
        </Group>
      )}
      <p className={styles.foot}>
        <LinkButton
          to="/"
          search={(before) => ({ ...before, show: "deleted" })}
          variant="subtle"
          size="compact-sm"
        >
          Deleted experiments
        </LinkButton>
        {items.length > 0 && <ExportButton items={items} more={query.hasNextPage || cut} />}
      </p>
      {edited && (
        <Suspense>
          <EditMarks experiment={edited} known={tags} onClose={() => setEdited(undefined)} />
        </Suspense>
      )}
      <OutcomeNote outcome={outcome} onClose={dismiss} />
    </>
  );
}

function Head({ act, project }: { act: Import; project: string | undefined }) {
  const maySubmit = useRefusal("researcher") === undefined;
  return (
    <>
      <Group justify="space-between" align="center" mb={16}>
        <Group gap={16} align="baseline">
          <h1 className={screen.title}>Experiments</h1>
          <Link to="/runs">Find runs</Link>
        </Group>
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

/** What came of an action, as soon as there is something to say. */
function OutcomeNote(props: { outcome: Outcome | undefined; onClose: () => void }) {
  return (
    props.outcome && (
      <Suspense>
        <Note {...props} />
      </Suspense>
    )
  );
}
