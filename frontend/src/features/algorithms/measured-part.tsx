import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { readLeaderboardOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { Leaderboard } from "@/lib/client/types.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import styles from "./algorithms.module.css";

/** Where a method is ranked: each board with it, and its place there. */
function placesOf(leaderboard: Leaderboard | undefined, algorithm: string) {
  return (leaderboard?.boards ?? []).flatMap((board) => {
    const at = board.methods.findIndex((one) => one.algorithm === algorithm);
    const method = board.methods[at];
    return method ? [{ board, method, place: at + 1 }] : [];
  });
}

/** What the leaderboard of this server says of a method. */
export function MeasuredPart({ algorithm }: { algorithm: string }) {
  const query = useQuery(readLeaderboardOptions());
  const places = placesOf(query.data, algorithm);
  if (query.isPending) return <Skeleton height={60} />;
  if (query.isError) return <LoadFault what="The leaderboard could not be computed." query={query} />;
  if (places.length === 0)
    return (
      <p className={screen.intro}>
        No tuned comparison here ranks it yet; <Link to="/leaderboard">Leaderboard</Link> says which
        experiments count.
      </p>
    );
  return (
    <TableRegion label={`Scores of ${algorithm}`}>
      <table className={`${ui.table} ${ui.sticky}`} data-testid="places">
        <thead>
          <tr>
            <th scope="col">Cluster</th>
            <th scope="col">Workloads</th>
            <th data-number scope="col" className={ui.number}>
              Score
            </th>
            <th data-number scope="col" className={ui.number}>
              95% interval
            </th>
            <th data-number scope="col" className={ui.number}>
              Place
            </th>
          </tr>
        </thead>
        <tbody>
          {places.map(({ board, method: { score, low, high }, place }) => (
            <tr key={JSON.stringify([board.cluster, board.workers, board.workloads])}>
              <td>
                {board.cluster}, {board.workers} {board.workers === 1 ? "worker" : "workers"}{" "}
                {board.simulated && <Tag kind="simulated" />}
              </td>
              <td className={styles.wrapped}>{board.workloads.map(({ name }) => name).join(", ")}</td>
              <td className={ui.number}>{score.toFixed(2)}</td>
              <td className={ui.number}>
                {low === null || high === null
                  ? "fewer than 3 seeds"
                  : `${low.toFixed(2)} to ${high.toFixed(2)}`}
              </td>
              <td className={ui.number}>
                {place} of {board.methods.length}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}
