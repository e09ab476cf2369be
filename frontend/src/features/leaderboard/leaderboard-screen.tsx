import { Group, Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { listAlgorithmsOptions, readLeaderboardOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ExperimentLeftOut, Leaderboard } from "@/lib/client/types.gen";
import { useRefresh } from "@/lib/events/use-refresh";
import { useStream } from "@/lib/events/use-stream";
import { isolatedParts } from "@/lib/format/right-to-left";
import { LinkButton } from "@/lib/ui/link-button";
import { LoadFault } from "@/lib/ui/load-fault";
import { Message } from "@/lib/ui/message";
import screen from "@/lib/ui/screen.module.css";
import { Section } from "@/lib/ui/section";
import { useTitle } from "@/lib/ui/use-title";
import { ViewsMenu } from "@/lib/views/views-menu";
import { BoardPart } from "./board-part";
import { ChooseBoard } from "./choose-board";
import styles from "./leaderboard.module.css";
import { colorsOf } from "./profile-series";
import type { LeaderboardSearch } from "./search";

const route = getRouteApi("/leaderboard");

/** Methods over several workloads, for each cluster. */
export function LeaderboardScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const look = (changes: LeaderboardSearch) =>
    navigate({
      search: (old) => ({ ...old, ...changes }),
      replace: !("target" in changes), // another choice is a step for Back, another order is none
      resetScroll: false,
    });
  const { workload, target } = search;
  const options = readLeaderboardOptions({ query: { workload, target } });
  const query = useQuery({ ...options, placeholderData: keepPreviousData });
  const catalogue = useQuery(listAlgorithmsOptions());
  const refresh = useRefresh(options.queryKey, 5000);
  useStream({}, (event) => {
    if (event.kind === "experiment" || event.kind === "reset") refresh();
  });
  useTitle("Leaderboard");
  const titles = new Map(
    catalogue.data?.items.map(({ name, title }) => [name, title.replace(/\s*\(.*\)$/, "")]),
  );
  const title = (name: string) => titles.get(name) ?? name;
  const colorOf = colorsOf(query.data?.boards ?? []);
  const chosen = workload !== undefined || target !== undefined;
  if (query.data && query.data.boards.length === 0 && !chosen) return <Empty leaderboard={query.data} />;
  return (
    <>
      <Group justify="space-between" align="flex-start">
        <h1 className={screen.title}>Leaderboard</h1>
        <ViewsMenu />
      </Group>
      <p className={screen.intro}>
        Which algorithm is fast on all workloads of a cluster. The score is the area under an algorithm's
        performance profile, as in AlgoPerf: 1 if it is the fastest on every workload, 0 if it is never within
        a factor of {query.data?.tau_max ?? 4} of the fastest. Only experiments that tuned all variants with
        equal effort count. Intervals cover the choice of seeds only; they are too narrow where many
        algorithms are about equally fast.
      </p>
      {query.data &&
        (chosen || query.data.choices.some(({ targets }, at) => at > 0 || targets.length > 1)) && (
          <ChooseBoard choices={query.data.choices} search={search} look={look} />
        )}
      <LoadFault what="The leaderboard could not be computed." query={query} />
      {query.isPending && <Skeleton height={260} mt={24} />}
      {query.data?.boards.length === 0 && (
        <p className={screen.note} data-testid="no-board">
          No experiment on this workload with this target counts.
        </p>
      )}
      {query.data?.boards.map((board) => (
        <BoardPart
          key={JSON.stringify([board.cluster, board.workers, board.workloads])}
          board={board}
          tauMax={query.data.tau_max}
          title={title}
          sort={search.sort}
          sortBy={(sort) => look({ sort })}
          colorOf={colorOf}
        />
      ))}
      {query.data && <LeftOut items={query.data.left_out} />}
    </>
  );
}

function Empty({ leaderboard }: { leaderboard: Leaderboard }) {
  return (
    <>
      <Message
        page
        title="No experiment counts yet"
        testId="empty"
        action={<LinkButton to="/new">New experiment</LinkButton>}
      >
        The leaderboard ranks algorithms over several workloads. An experiment counts if it has a target,
        tuning is on, every variant has the same number of trials, and all its runs have ended. Run one
        experiment per workload, with the same algorithms, cluster and number of workers.
      </Message>
      <LeftOut items={leaderboard.left_out} />
    </>
  );
}

/** Experiments that do not count, each with the reason. */
function LeftOut({ items }: { items: readonly ExperimentLeftOut[] }) {
  if (items.length === 0) return null;
  return (
    <Section title="Experiments that do not count" testId="left-out">
      <ul className={styles.leftOut}>
        {items.map(({ id, number, name, why }) => (
          <li key={`${id} ${why}`}>
            <Link to="/experiments/$experimentId" params={{ experimentId: id }}>
              #{number} <bdi>{name}</bdi>
            </Link>
            : {isolatedParts(why)}
          </li>
        ))}
      </ul>
    </Section>
  );
}
