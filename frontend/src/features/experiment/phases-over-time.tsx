import { Group as Row, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { DrawingMenu } from "@/lib/charts/drawing-menu";
import { PhaseArea } from "@/lib/charts/phase-area";
import { PhaseKey } from "@/lib/charts/phase-bar";
import { type Area, phasesOver, pieces } from "@/lib/charts/phase-stack";
import { readPhasesOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentView, PhasesRow } from "@/lib/client/types.gen";
import { areasSvg } from "@/lib/export/phases-svg";
import { formatCount, formatPercent } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { colorOf, PHASES } from "@/lib/theme/palette";
import { LoadFault } from "@/lib/ui/load-fault";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import answer from "./answer.module.css";
import styles from "./experiment.module.css";
import { type Group, groupLabel } from "./groups";
import { nextLook } from "./phases-look";
import { PhasesTable } from "./phases-table";
import { overTimeSheet } from "./verdict-sheets";

/** Equal parts of the time that are drawn. */
const BINS = 60;
const COMMUNICATE = PHASES.indexOf("communicate");

/** What a variant's row says of a part of the time, or where nothing was pointed at of its beginning and end. */
function figures(area: Area, at: number | undefined): [string, string] {
  if (at !== undefined) {
    const exposed = area.shares[COMMUNICATE]?.[at] ?? 0;
    const none = area.shares.every((of) => (of[at] ?? 0) === 0);
    return none
      ? ["nothing recorded", "\u00a0"]
      : [`${formatPercent(exposed)} exposed`, `${formatPercent(area.hidden[at])} hidden`];
  }
  const [first, , last] = pieces(area, 3);
  const part = (of: typeof first) => formatPercent(of?.shares[COMMUNICATE]);
  return [`${part(first)} exposed at first`, `${part(last)} in the last third`];
}

/** The rows as they are drawn. */
const inOrder = (group: Group, rows: readonly PhasesRow[]) =>
  group.rows.flatMap(({ variant }) => rows.filter((row) => row.variant === variant));

function pictureOf(group: Group, rows: readonly PhasesRow[]) {
  const span = formatSeconds(rows[0]?.span);
  const areas = rows.map((row) => ({ ...row, name: row.variant, words: figures(row, undefined).join(", ") }));
  const simulated = group.simulated ? " (simulated)" : "";
  return areasSvg(areas, `Phases over ${span}: ${groupLabel(group)}${simulated}`);
}

/** Phases over the wall time, a drawing for each variant on one axis: exposed communication, and beside it what is hidden. */
export function PhasesOverTime({ experiment, group }: { experiment: ExperimentView; group: Group }) {
  const { cluster, workers } = group;
  const query = useQuery({
    ...readPhasesOptions({
      path: { experiment_id: experiment.id },
      query: { cluster, workers, bins: BINS },
    }),
    refetchInterval: ({ state }) => nextLook(experiment, state.data?.rows[0]?.span ?? 0, Date.now()),
  });
  const [at, point] = useState<number>();
  const rows = query.data?.rows ?? [];
  const span = rows[0]?.span ?? 0;
  const seconds = (part: number) => formatSeconds((part / BINS) * span);
  const fewer = rows.some(
    (row) => row.runs.length < (group.rows.find(({ variant }) => variant === row.variant)?.finished ?? 0),
  );
  if (query.isError && !query.data) {
    return <LoadFault what="The phases could not be loaded." query={query} />;
  }
  return (
    <>
      <Row justify="space-between" align="start" wrap="nowrap" mih={24}>
        <PhaseKey phases={phasesOver(rows)} hidden />
        {rows.length > 0 && (
          <DrawingMenu
            of="Where the time went, over time"
            host={() => pictureOf(group, inOrder(group, rows))}
            sheet={() => overTimeSheet(inOrder(group, rows))}
          />
        )}
      </Row>
      <div className={styles.phases}>
        {group.rows.map(({ variant }) => {
          const row = rows.find((one) => one.variant === variant);
          const [first, second] = row ? figures(row, at) : ["", "\u00a0"];
          return (
            <div
              key={variant}
              className={styles.phaseRow}
              data-testid="phase-area"
              data-variant={variant}
              style={{ minHeight: 72 }}
            >
              <VariantChip name={variant} index={colorOf(experiment, variant)} />
              {row ? (
                <PhaseArea
                  shares={row.shares}
                  hidden={row.hidden}
                  label={`${variant} over ${formatSeconds(row.end)}: ${figures(row, undefined).join(", ")}`}
                  at={at}
                  point={point}
                />
              ) : query.isPending ? (
                <Skeleton height={72} />
              ) : (
                <span className={styles.quiet}>No step yet</span>
              )}
              <span className={styles.phaseFigure}>
                {first}
                <span className={ui.range}>{second}</span>
              </span>
            </div>
          );
        })}
        <div className={styles.phaseRow} style={{ minHeight: 0 }} aria-hidden="true">
          <span />
          <span className={answer.ways}>
            {[0, BINS / 2, BINS].map((part) => (
              <span key={part}>{span > 0 && seconds(part)}</span>
            ))}
          </span>
          <span className={ui.range}>
            {at === undefined ? "\u00a0" : `${seconds(at)} to ${seconds(at + 1)}`}
          </span>
        </div>
      </div>
      {rows.length > 0 && <PhasesTable rows={rows} />}
      <Text fz={12.5} c="dimmed" maw="92ch" mt={16}>
        Shares of what workers recorded in each of {formatCount(BINS)} equal parts of the{" "}
        {group.simulated ? "virtual" : "wall"} time, over all workers and seeds. Hidden communication overlaps
        compute and is drawn over it.
        {fewer && " Too many steps: not all seeds are shown."}
      </Text>
    </>
  );
}
