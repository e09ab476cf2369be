import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { statusOf } from "@/lib/api/problem";
import type { ExperimentSpec } from "@/lib/api/types";
import { validateExperiment } from "@/lib/client/sdk.gen";
import type { DryRun } from "@/lib/client/types.gen";
import type { Json } from "@/lib/json/document";
import { intoQuery } from "@/lib/projects/use-projects";
import { withNamedBaseline } from "./baseline";

const PAUSE = 400; // ms without a change before the server is asked
const AGAIN = 3000; // ms after which a server that did not answer is asked again

/** The server validates: the form sends what is in it, right or wrong. */
export function asSpec(draft: Json): ExperimentSpec {
  return withNamedBaseline(draft) as unknown as ExperimentSpec;
}

/** What the draft would run in a project, asked of the server whenever typing pauses, and until it answers. */
export function usePlan(draft: Json, project: string) {
  return useJudged(JSON.stringify(asSpec(draft)), ["dry-run", project], async (asked, signal) => {
    const query = intoQuery(project);
    const { data } = await validateExperiment({ body: JSON.parse(asked), query, signal, throwOnError: true });
    return data;
  });
}

/** What the server says of a text whenever typing pauses, and until it answers; undefined: there is nothing to ask. */
export function useJudged(
  text: string | undefined,
  about: readonly unknown[],
  ask: (text: string, signal: AbortSignal) => Promise<DryRun>,
) {
  const [asked] = useDebouncedValue(text, PAUSE);
  const query = useQuery({
    queryKey: [...about, asked],
    queryFn: ({ signal }) => ask(asked ?? "", signal),
    enabled: asked !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
    refetchInterval: ({ state }) => (unanswered(state.error) ? AGAIN : false),
  });
  return { query, settled: asked === text && !query.isFetching };
}

/** No answer, or one that may be another the next time. */
function unanswered(error: unknown): boolean {
  return Boolean(error) && (statusOf(error) ?? 503) >= 500;
}
