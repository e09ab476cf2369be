import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { LineChart } from "@/lib/charts/line-chart";
import type { Board, BoardWorkload, MethodResult, RankedMethod } from "@/lib/client/types.gen";
import { formatNumber, formatPercent, formatPercentTick } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { Section } from "@/lib/ui/section";
import { type Sorted, SortHead } from "@/lib/ui/sort-head";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./leaderboard.module.css";
import { allProfiles, shareAt } from "./profile-series";
import { ScoreBar } from "./score-bar";

interface BoardProps {
  board: Board;
  tauMax: number;
  /** The name of a method for people. */
  title: (algorithm: string) => string;
  /** The workload by whose times methods are sorted; otherwise by their scores. */
  sort: string | undefined;
  sortBy: (workload: string | undefined) => void;
  /** Its place in the palette. */
  colorOf: (algorithm: string) => number;
}

/** The methods on one cluster with one number of workers. */
export function BoardPart({ board, tauMax, title, sort, sortBy, colorOf }: BoardProps) {
  const where = `${board.cluster}, ${board.workers} ${board.workers === 1 ? "worker" : "workers"}`;
  const tags = (
    <span className={styles.tags}>
      {board.simulated && <Tag kind="simulated" />}
      {board.oversubscribed && <Tag kind="oversubscribed" />}
    </span>
  );
  const few = board.workloads.length === 1;
  return (
    <Section title={where} testId="board" aside={tags}>
      {few && (
        <Text fz={13} lh={1.5} c="dimmed" maw="84ch" mb={14}>
          One workload is not enough for a ranking. Tune the same algorithms on another workload.
        </Text>
      )}
      <Ranking board={board} title={title} sort={sort} sortBy={sortBy} colorOf={colorOf} />
      {board.methods.length > 0 && (
        <div className={styles.profiles}>
          <LineChart
            title={`Performance profiles${board.simulated ? " (simulated)" : ""}`}
            testId="profiles"
            series={allProfiles(board.methods, title, board.workloads.length, colorOf)}
            xTitle="Time over that of the fastest algorithm (τ)"
            formatX={(value) => formatNumber(Number(value.toFixed(3)))}
            tickX={(value) => formatNumber(value)}
            formatY={(value) => formatPercent(shareAt(value, board.workloads.length), 0)}
            tickY={(value) => formatPercentTick(value)}
            clamp={[-0.07, 1.03]}
            note={`share of workloads within the factor, up to ${tauMax}`}
            height={260}
          />
        </div>
      )}
      {board.workloads.map(({ name, by_hand: given, extended }) => (
        <Fragment key={name}>
          {given && (
            <Text fz={13} lh={1.5} c="dimmed" maw="84ch" mb={14} data-testid="by-hand">
              {name}: {given}
            </Text>
          )}
          {extended && (
            <Text fz={13} lh={1.5} c="dimmed" maw="84ch" mb={14} data-testid="extended">
              {name}: {extended}
            </Text>
          )}
        </Fragment>
      ))}
      {board.unranked.length > 0 && (
        <Text fz={13} lh={1.5} c="dimmed" maw="84ch" mb={14} data-testid="unranked">
          Not ranked, because not measured everywhere:{" "}
          {board.unranked
            .map(({ algorithm, lacking }) => `${title(algorithm)} (not on ${lacking.join(", ")})`)
            .join("; ")}
          .
        </Text>
      )}
    </Section>
  );
}

/** The methods by their scores, or by their times on a workload; without a time there, last. */
function ordered(board: Board, sort: string | undefined) {
  const at = board.workloads.findIndex(({ name }) => name === sort);
  const seconds = (method: RankedMethod) => method.results[at]?.seconds ?? Number.MAX_VALUE;
  return at < 0 ? board.methods : [...board.methods].sort((one, other) => seconds(one) - seconds(other));
}

function Ranking({ board, title, sort, sortBy, colorOf }: Omit<BoardProps, "tauMax">) {
  if (board.methods.length === 0) {
    return (
      <Text fz={13} lh={1.5} c="dimmed" maw="84ch" mb={14}>
        No algorithm was measured on all of these workloads.
      </Text>
    );
  }
  return (
    <TableRegion label={`Algorithms on ${board.cluster}`}>
      <table className={`${ui.table} ${ui.sticky}`} data-testid="ranking">
        <caption className={ui.unseen}>Algorithms on {board.cluster}, the best score first.</caption>
        <thead>
          <tr>
            <th scope="col">Algorithm</th>
            <SortHead
              title="Score, 95% interval"
              sorted={board.workloads.every(({ name }) => name !== sort) ? "descending" : undefined}
              turn={() => sortBy(undefined)}
            />
            {board.workloads.map((workload) => (
              <WorkloadHead
                key={workload.name}
                workload={workload}
                simulated={board.simulated}
                sorted={workload.name === sort ? "ascending" : undefined}
                click={() => sortBy(workload.name)}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered(board, sort).map((method) => (
            <MethodRow
              key={method.algorithm}
              board={board}
              method={method}
              name={title(method.algorithm)}
              index={colorOf(method.algorithm)}
            />
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

interface WorkloadHeadProps {
  workload: BoardWorkload;
  simulated: boolean;
  sorted: Sorted;
  click: () => void;
}

function WorkloadHead({ workload, simulated, sorted, click }: WorkloadHeadProps) {
  const named = `${workload.name}, ${workload.target}${simulated ? ", virtual s" : ""}`;
  return (
    <SortHead title={workload.name} named={named} number sorted={sorted} turn={click}>
      <span className={ui.range} data-range>
        {workload.target}, {workload.trials} {workload.trials === 1 ? "trial" : "trials"}
        {simulated && ", virtual s"}
      </span>
      <span className={ui.range} data-range>
        {workload.experiments.map(({ id, number, name }) => (
          <Link key={id} to="/experiments/$experimentId" params={{ experimentId: id }} title={name}>
            #{number}{" "}
          </Link>
        ))}
      </span>
    </SortHead>
  );
}

interface RowProps {
  board: Board;
  method: RankedMethod;
  name: string;
  index: number;
}

function MethodRow({ board, method, name, index }: RowProps) {
  return (
    <tr data-testid="method">
      <td>
        <Link
          to="/algorithms/$algorithm"
          params={{ algorithm: method.algorithm }}
          className={styles.method}
          title="Equations, parameters and verified properties"
        >
          <VariantChip name={name} index={index} />
        </Link>
      </td>
      <td>
        <span className={styles.score}>
          <strong>{method.score.toFixed(2)}</strong>
          <span className={styles.interval}>
            {method.low === null || method.high === null
              ? "no interval: fewer than 3 seeds"
              : `${method.low.toFixed(2)} to ${method.high.toFixed(2)}`}
          </span>
        </span>
        <ScoreBar method={method} index={index} />
      </td>
      {method.results.map((result, at) => (
        <td key={board.workloads[at]?.name} className={ui.number}>
          <Result result={result} method={name} />
        </td>
      ))}
    </tr>
  );
}

/** A variant is named where its name says more than the row does. */
function Result({ result, method }: { result: MethodResult; method: string }) {
  const { seconds, ratio, variant, variants, reached, seeds } = result;
  const why = seeds === 0 ? "no trial gave a setting" : `${reached} of ${seeds} seeds reached it`;
  const missed = seconds === null || reached < seeds;
  return (
    <>
      {seconds === null ? "missed" : formatSeconds(seconds)}
      {ratio !== null && <span className={styles.ratio}> {formatNumber(Number(ratio.toFixed(2)))}×</span>}
      <span className={ui.range} data-range>
        {[missed ? why : variant === method ? "" : variant, variants > 1 && `best of ${variants} variants`]
          .filter(Boolean)
          .join(", ")}
      </span>
    </>
  );
}
