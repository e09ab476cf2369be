import { Button, Group as Row, Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Fragment, useCallback, useMemo, useRef } from "react";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { DrawAll } from "@/lib/rows/draw-all";
import { RowGap } from "@/lib/rows/row-gap";
import { type PageRows, usePageRows } from "@/lib/rows/use-page-rows";
import { colorOf } from "@/lib/theme/palette";
import many from "@/lib/ui/close-table.module.css";
import { columnsIn } from "@/lib/ui/columns";
import { CompareSelected } from "@/lib/ui/compare-selected";
import { LoadFault } from "@/lib/ui/load-fault";
import { Section } from "@/lib/ui/section";
import { SortHead } from "@/lib/ui/sort-head";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { useSelected } from "@/lib/ui/use-selected";
import styles from "./experiment.module.css";
import { RunGroupRow } from "./run-group-row";
import { RunRow } from "./run-row";
import { GroupSwitch, RunColumns, RunsPicker } from "./runs-controls";
import { type Entry, entriesOf, groupsOfRuns } from "./runs-groups";
import {
  COLUMNS,
  columnsFor,
  inOrder,
  nextOrder,
  OPTIONAL,
  type RunColumn,
  type RunKey,
  runsOrderIn,
} from "./runs-order";
import { type RunsAsked, useFurtherRuns, useRuns } from "./use-experiment";
import { widest } from "./widest";

const route = getRouteApi("/experiments/$experimentId");
/** Height of a row, px. */
const ROW = 39;

/** The first runs of a kind, and all others once they are wanted. */
function useKind(id: string, every: boolean, asked: RunsAsked) {
  const first = useRuns(id, asked);
  const further = useFurtherRuns(id, asked, first.data?.next_cursor, every);
  const items = useMemo(
    () => [
      ...(first.data?.items ?? []),
      ...(every ? (further.data?.pages.flatMap((page) => page.items) ?? []) : []),
    ],
    [first.data, further.data, every],
  );
  const complete = !first.data?.next_cursor || (further.isSuccess && !further.hasNextPage);
  return { first, items, complete, failed: every && further.isError ? further : undefined };
}

/** How runs are listed. A zoom of the charts, which is in the address, too, renders no table. */
function useListed() {
  return route.useSearch({
    select: ({ runs, sort, group, columns, open, all }) => ({ runs, sort, group, columns, open, all }),
    structuralSharing: true,
  });
}

/** Every run of the experiment; each leads to its own page. */
export function RunsTable({ experiment }: { experiment: ExperimentView }) {
  const tuned = Boolean(experiment.spec.tuning);
  const { runs: only, sort, group, columns: named, open: opened, all } = useListed();
  const navigate = route.useNavigate();
  const { variants } = experiment;
  const every = all === "yes";
  const shown = useMemo(() => columnsIn(OPTIONAL, named), [named]);
  const energy = shown.has("energy") || runsOrderIn(sort)?.key === "energy" || undefined;
  const reported = useKind(experiment.id, every, { reported: tuned ? true : undefined, energy });
  const tried = useKind(experiment.id, every, { reported: false, energy, enabled: tuned });
  const runs = useMemo(() => {
    const listed = [
      ...(only === "trials" ? [] : reported.items),
      ...(only === "reported" ? [] : tried.items),
    ];
    return inOrder(listed, runsOrderIn(sort), variants);
  }, [only, reported.items, tried.items, sort, variants]);
  const columns = useMemo(
    () => columnsFor(COLUMNS, tuned).filter(({ key }) => key === "run" || shown.has(key)),
    [tuned, shown],
  );
  const open = useMemo(() => new Set(opened), [opened]);
  const turn = useCallback(
    (key: string) =>
      navigate({
        search: ({ open: before = [], ...old }) => {
          const others = before.filter((one) => one !== key);
          const next = others.length < before.length ? others : [...before, key];
          return { ...old, open: next.length > 0 ? next : undefined };
        },
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const groups = useMemo(() => (group ? groupsOfRuns(runs, variants) : undefined), [group, runs, variants]);
  const entries = useMemo(() => entriesOf(runs, groups, open), [runs, groups, open]);
  const { selected, select, clear } = useSelected();
  const host = useRef<HTMLTableSectionElement>(null);
  const keyOf = useCallback((index: number) => entries[index]?.key ?? String(index), [entries]);
  const rows = usePageRows(host, { count: entries.length, estimate: ROW, keyOf });
  const cut = !reported.complete || (tuned && !tried.complete);
  const query = reported.first;
  const failed = reported.failed ?? tried.failed;
  return (
    <Section
      title="Runs"
      testId="runs"
      aside={
        <Row gap="6px 12px">
          {cut && <span className={styles.aside}>The first {runs.length} runs are shown.</span>}
          {cut && (
            <Button
              size="compact-xs"
              variant="default"
              loading={every && !failed}
              onClick={() =>
                navigate({ search: (old) => ({ ...old, all: "yes" }), replace: true, resetScroll: false })
              }
              data-testid="every-run"
            >
              Show all
            </Button>
          )}
          <CompareSelected selected={selected} clear={clear} />
          <DrawAll rows={rows} count={entries.length} what="rows" />
          <GroupSwitch on={group !== undefined} />
          <a className={styles.download} href={`/api/v1/runs.csv?experiment=${experiment.id}`} download>
            All runs, CSV
          </a>
          <a className={styles.download} href={`/api/v1/experiments/${experiment.id}/points.csv`} download>
            All points, CSV
          </a>
          {tuned && <RunsPicker only={only} reported={reported.items.length} trials={tried.items.length} />}
          <RunColumns tuned={tuned} shown={shown} />
        </Row>
      }
    >
      {!query.data && <LoadFault what="The runs could not be loaded." query={query} />}
      {failed && <LoadFault what="Not all runs could be read." query={failed} />}
      {query.isPending && <Skeleton height={240} />}
      {query.data && (
        <TableRegion label="Runs of this experiment" prepare={rows.prepare}>
          <table
            className={`${ui.table} ${ui.sticky} ${many.close}`}
            aria-rowcount={rows.whole ? undefined : entries.length + 1}
            data-testid="runs-table"
          >
            <Head columns={columns} sort={sort} />
            <tbody ref={host}>
              <Rows
                experiment={experiment}
                runs={runs}
                entries={entries}
                turn={turn}
                rows={rows}
                columns={columns}
                selected={selected}
                select={select}
              />
            </tbody>
          </table>
        </TableRegion>
      )}
    </Section>
  );
}

/** The titles of the columns; a click sorts upwards, then downwards, then as listed. */
function Head({ columns, sort }: { columns: readonly RunColumn[]; sort: string | undefined }) {
  const navigate = route.useNavigate();
  const order = runsOrderIn(sort);
  const turn = (key: RunKey) =>
    navigate({
      search: (old) => ({ ...old, sort: nextOrder(order, key) }),
      replace: true,
      resetScroll: false,
    });
  return (
    <thead>
      <tr>
        {columns.map(({ key, title, number }) => {
          const way = order?.key === key ? order : undefined;
          const sorted = way && (way.down ? "descending" : "ascending");
          return <SortHead key={key} title={title} number={number} sorted={sorted} turn={() => turn(key)} />;
        })}
      </tr>
    </thead>
  );
}

interface RowsProps {
  experiment: ExperimentView;
  runs: readonly RunSummary[];
  entries: readonly Entry[];
  turn: (key: string) => void;
  rows: PageRows;
  columns: readonly RunColumn[];
  /** Ids of those that are selected, and what selects one. */
  selected: readonly string[];
  select: (id: string, on: boolean) => void;
}

/** The rows in view. Columns keep the width that they have with all rows: rows without height stand for the others. */
function Rows({ experiment, runs, entries, turn, rows, columns, selected, select }: RowsProps) {
  const props = (run: RunSummary) => ({
    run,
    variant: colorOf(experiment, run.variant),
    hasTarget: Boolean(experiment.spec.target),
    columns,
    selected: selected.includes(run.id),
    select,
  });
  const wide = useMemo(() => (rows.whole ? [] : widest(runs)), [rows.whole, runs]);
  return (
    <>
      {wide.map((run) => (
        <RunRow key={`width ${run.id}`} {...props(run)} unseen />
      ))}
      {rows.rows.map(({ index, gap }) => {
        const entry = entries[index];
        if (!entry) return null;
        const place = { index: rows.whole ? undefined : index, measure: rows.measure };
        return (
          <Fragment key={entry.key}>
            <RowGap height={gap} columns={columns.length} />
            {entry.kind === "run" ? (
              <RunRow {...props(entry.run)} {...place} />
            ) : (
              <RunGroupRow
                group={entry.group}
                open={entry.open}
                {...place}
                turn={turn}
                columns={columns}
                variant={props(entry.group.first).variant}
              />
            )}
          </Fragment>
        );
      })}
      <RowGap height={rows.after} columns={columns.length} />
    </>
  );
}
