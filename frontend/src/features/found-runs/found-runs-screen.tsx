import { Button, Group, Text } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { explain, statusOf } from "@/lib/api/problem";
import { listRuns } from "@/lib/client/sdk.gen";
import { useStream } from "@/lib/events/use-stream";
import { useThrottled } from "@/lib/events/use-throttled";
import { FilterField } from "@/lib/filter/filter-field";
import { columnsIn, columnsText } from "@/lib/ui/columns";
import { CompareSelected } from "@/lib/ui/compare-selected";
import { lazily } from "@/lib/ui/lazily";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { MOST_COMPARED, MOST_EXPERIMENTS, useSelected } from "@/lib/ui/use-selected";
import { useTitle } from "@/lib/ui/use-title";
import { WhenPressed } from "@/lib/ui/when-pressed";
import { ViewsMenu } from "@/lib/views/views-menu";
import { COLUMNS } from "./columns";
import styles from "./found-runs.module.css";
import { FoundTable } from "./found-table";
import { experimentsOf, rowsOf } from "./rows";
import { type FoundRunsSearch, nextSort } from "./search";

const ColumnsItems = lazily(() => import("@/lib/ui/columns-items").then((part) => part.ColumnsItems));
const route = getRouteApi("/runs");
const PAGE = 100;
/** The order without another one. */
const NEWEST = "-created";
/** From one reading to the next, ms at least. */
const AGAIN = 4000;
const FOUND = ["found-runs"];

/** Runs of all experiments that fit a filter. */
export function FoundRunsScreen() {
  const { filter, sort, columns } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<FoundRunsSearch>) =>
    navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const query = useRuns(filter, sort);
  const chosen = useSelected();
  useTitle("Runs");
  const runs = query.data?.pages.flatMap((page) => page.items) ?? [];
  const compared = rowsOf(runs);
  const shown = columnsIn(COLUMNS, columns);
  const ofFilter = query.isError && filter ? explain(query.error) : undefined;
  return (
    <>
      <Group justify="space-between" align="flex-start">
        <h1 className={screen.title}>Runs</h1>
        <ViewsMenu />
      </Group>
      <p className={`${screen.intro} ${styles.intro}`}>
        Of all experiments, including trials; the filter <code>reported</code> leaves trials out.
      </p>
      <FilterField
        of="runs"
        filter={filter ?? ""}
        error={ofFilter}
        onChange={(next) => change({ filter: next || undefined })}
      />
      <Group gap={8} my={16}>
        <WhenPressed
          button={
            <Button variant="default" size="compact-sm">
              Columns
            </Button>
          }
          opens={(button) => (
            <ColumnsItems
              button={button}
              columns={COLUMNS}
              shown={shown}
              show={(next) => change({ columns: columnsText(COLUMNS, next) })}
            />
          )}
        />
        {!ofFilter && (
          <Button
            component="a"
            download
            href={`/api/v1/runs.csv?${new URLSearchParams({ ...(filter ? { filter } : {}), sort: sort ?? NEWEST })}`}
            variant="default"
            size="compact-sm"
          >
            All as CSV
          </Button>
        )}
        <CompareSelected
          {...chosen}
          experiments={experimentsOf(runs.filter(({ id }) => chosen.selected.includes(id)))}
        />
        {runs.length > 0 && (
          <>
            <LinkButton
              to="/compare"
              search={{ rows: [...compared.rows] }}
              variant="default"
              size="compact-sm"
            >
              {compared.more > 0
                ? `Compare the first ${compared.rows.length} variants`
                : "Compare their variants"}
            </LinkButton>
            {compared.more > 0 && (
              <Text span fz={13} c="dimmed" data-testid="not-compared">
                {compared.experiments < compared.of &&
                  `of ${compared.experiments} of ${compared.of} experiments: `}
                a comparison takes at most {MOST_COMPARED} variants of {MOST_EXPERIMENTS} experiments
              </Text>
            )}
          </>
        )}
      </Group>
      {!ofFilter && <LoadFault what="The runs could not be loaded." query={query} />}
      {query.isSuccess && runs.length === 0 && (
        <Text>{filter ? "No run fits this filter." : "There are no runs yet."}</Text>
      )}
      {runs.length > 0 && (
        <FoundTable
          runs={runs}
          shown={shown}
          sort={sort}
          selected={chosen.selected}
          select={chosen.select}
          click={(key) => change({ sort: nextSort(sort, key) })}
        />
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          mt={12}
          loading={query.isFetchingNextPage}
          onClick={() => query.fetchNextPage()}
        >
          Load more
        </Button>
      )}
    </>
  );
}

/** Those that were read, read again as runs begin, go on and end. */
function useRuns(filter: string | undefined, sort: string | undefined) {
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: [...FOUND, filter, sort],
    queryFn: async ({ pageParam, signal }) => {
      const query = { filter, sort: sort ?? NEWEST, limit: PAGE, cursor: pageParam };
      return (await listRuns({ query, signal, throwOnError: true })).data;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
  // what cannot be read is the same when it is asked for again
  const told = statusOf(query.error) === 422;
  const again = () => client.invalidateQueries({ queryKey: FOUND }, { cancelRefetch: false });
  const refresh = useThrottled(() => (told ? undefined : again()), AGAIN);
  useStream({}, (event) => {
    if (event.kind !== "logs" && event.kind !== "clusters") refresh();
  });
  return query;
}
