import { Button, Group as Row, SegmentedControl, Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { Fragment, useCallback, useMemo, useRef, useState } from "react";
import type { ExperimentView, RunSummary } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { DrawAll } from "@/lib/rows/draw-all";
import { RowGap } from "@/lib/rows/row-gap";
import { type PageRows, usePageRows } from "@/lib/rows/use-page-rows";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./experiment.module.css";
import { RunRow } from "./run-row";
import { COLUMNS, inOrder, nextOrder, type RunKey, runsOrderIn } from "./runs-order";
import type { ExperimentSearch } from "./search";
import { useFurtherRuns, useRuns } from "./use-experiment";
import { widest } from "./widest";

const route = getRouteApi("/experiments/$experimentId");
/** Height of a row, px. */
const ROW = 39;

/** The first runs of a kind, and all others once they are wanted. */
function useKind(id: string, reported: boolean | undefined, every: boolean, enabled = true) {
  const first = useRuns(id, reported, enabled);
  const further = useFurtherRuns(id, reported, first.data?.next_cursor, every);
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

/** Every run of the experiment; each leads to its own page. */
export function RunsTable({ experiment }: { experiment: ExperimentView }) {
  const tuned = Boolean(experiment.spec.tuning);
  const { runs: only, sort } = route.useSearch();
  const { variants } = experiment;
  const [every, setEvery] = useState(false);
  const reported = useKind(experiment.id, tuned ? true : undefined, every);
  const tried = useKind(experiment.id, false, every, tuned);
  const runs = useMemo(() => {
    const listed = [
      ...(only === "trials" ? [] : reported.items),
      ...(only === "reported" ? [] : tried.items),
    ];
    return inOrder(listed, runsOrderIn(sort), variants);
  }, [only, reported.items, tried.items, sort, variants]);
  const host = useRef<HTMLTableSectionElement>(null);
  const keyOf = useCallback((index: number) => runs[index]?.id ?? String(index), [runs]);
  const rows = usePageRows(host, { count: runs.length, estimate: ROW, keyOf });
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
              onClick={() => setEvery(true)}
              data-testid="every-run"
            >
              Show all
            </Button>
          )}
          <DrawAll rows={rows} count={runs.length} what="rows" />
          <a className={styles.download} href={`/api/v1/runs.csv?experiment=${experiment.id}`} download>
            All runs, CSV
          </a>
          <a className={styles.download} href={`/api/v1/experiments/${experiment.id}/points.csv`} download>
            All points, CSV
          </a>
          {tuned && <RunsPicker only={only} reported={reported.items.length} trials={tried.items.length} />}
        </Row>
      }
    >
      {query.isError && !query.data && (
        <ErrorPanel what="The runs could not be read." error={query.error} retry={() => query.refetch()} />
      )}
      {failed && (
        <ErrorPanel what="Not all runs could be read." error={failed.error} retry={() => failed.refetch()} />
      )}
      {query.isPending && <Skeleton height={240} />}
      {query.data && (
        <TableRegion label="Runs of this experiment" prepare={rows.prepare}>
          <table
            className={`${ui.table} ${ui.sticky}`}
            aria-rowcount={rows.whole ? undefined : runs.length + 1}
            data-testid="runs-table"
          >
            <Head tuned={tuned} sort={sort} />
            <tbody ref={host}>
              <Rows experiment={experiment} runs={runs} rows={rows} />
            </tbody>
          </table>
        </TableRegion>
      )}
    </Section>
  );
}

/** The titles of the columns; a click sorts upwards, then downwards, then as listed. */
function Head({ tuned, sort }: { tuned: boolean; sort: string | undefined }) {
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
        {COLUMNS.filter(({ key }) => tuned || key !== "trial").map(({ key, title, number }) => {
          const way = order?.key === key ? order : undefined;
          return (
            <th
              key={key}
              scope="col"
              data-number={number || undefined}
              data-export={title}
              className={number ? ui.number : undefined}
              aria-sort={way && (way.down ? "descending" : "ascending")}
            >
              <button type="button" className={styles.sort} onClick={() => turn(key)}>
                {title}
                {way && <span aria-hidden="true">{way.down ? " ▼" : " ▲"}</span>}
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface RowsProps {
  experiment: ExperimentView;
  runs: readonly RunSummary[];
  rows: PageRows;
}

/** The rows in view. Columns keep the width that they have with all rows: rows without height stand for the others. */
function Rows({ experiment, runs, rows }: RowsProps) {
  const tuned = Boolean(experiment.spec.tuning);
  const columns = tuned ? 11 : 10;
  const props = (run: RunSummary) => ({
    run,
    variant: experiment.variants.indexOf(run.variant),
    tuned,
    hasTarget: Boolean(experiment.spec.target),
  });
  const wide = useMemo(() => (rows.whole ? [] : widest(runs)), [rows.whole, runs]);
  return (
    <>
      {wide.map((run) => (
        <RunRow key={`width ${run.id}`} {...props(run)} unseen />
      ))}
      {rows.rows.map(({ index, gap }) => {
        const run = runs[index];
        if (!run) return null;
        return (
          <Fragment key={run.id}>
            <RowGap height={gap} columns={columns} />
            <RunRow {...props(run)} index={rows.whole ? undefined : index} measure={rows.measure} />
          </Fragment>
        );
      })}
      <RowGap height={rows.after} columns={columns} />
    </>
  );
}

/** Those of trials, those that are reported, or both: the reported ones then come first. */
function RunsPicker({
  only,
  reported,
  trials,
}: {
  only: ExperimentSearch["runs"];
  reported: number;
  trials: number;
}) {
  const navigate = route.useNavigate();
  return (
    <SegmentedControl
      size="xs"
      aria-label="Runs shown"
      data-testid="runs-picker"
      value={only ?? "all"}
      data={[
        { value: "all", label: "All" },
        { value: "reported", label: `Reported (${formatCount(reported)})` },
        { value: "trials", label: `Trials (${formatCount(trials)})` },
      ]}
      onChange={(value) => {
        const runs = value === "reported" || value === "trials" ? value : undefined;
        navigate({ search: (old) => ({ ...old, runs }), replace: true, resetScroll: false });
      }}
    />
  );
}
