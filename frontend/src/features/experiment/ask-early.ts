import type { QueryClient } from "@tanstack/react-query";
import { askedAxis } from "@/lib/charts/epochs";
import { readComparisonOptions, readExperimentOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { EventStream } from "@/lib/events/event-stream";
import { bandsOptions, METRICS } from "./asked";
import { experimentSearch } from "./search";

const PAGE = /^\/experiments\/([\w-]+)$/;
/** By then the page itself listens, ms. */
const SHOWN = 10_000;

/**
 * Where the dashboard begins with the page of an experiment, ask for what that shows while its code is on its way. Events come from
 * now on, too: what was asked for before one of them may lack something, and is asked for anew when it is shown.
 */
export function askEarly(
  { pathname, search }: Pick<Location, "pathname" | "search">,
  stream: EventStream,
  client: QueryClient,
): void {
  const id = PAGE.exec(pathname)?.[1];
  if (id === undefined) return;
  const path = { experiment_id: id };
  const { axis = "clock" } = experimentSearch(Object.fromEntries(new URLSearchParams(search)));
  const leave = stream.subscribe({ experiment: id }, ({ kind }) => {
    if (kind === "reset") void client.invalidateQueries({ refetchType: "none" });
    // what is shown has its own listeners
    else if (kind !== "logs" && kind !== "clusters")
      void client.invalidateQueries({ type: "inactive", refetchType: "none" });
  });
  setTimeout(leave, SHOWN);
  void client.prefetchQuery(readExperimentOptions({ path }));
  void client.prefetchQuery(readComparisonOptions({ path }));
  void client.prefetchQuery(bandsOptions(id, askedAxis(axis), METRICS));
}
