import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ExperimentSpec } from "@/lib/api/types";
import { validateExperiment } from "@/lib/client/sdk.gen";
import type { Json } from "./document";

const PAUSE = 400; // ms without a change before the server is asked

/** The server validates: the form sends what is in it, right or wrong. */
export function asSpec(draft: Json): ExperimentSpec {
  return draft as unknown as ExperimentSpec;
}

/** What the draft would run, asked of the server whenever typing pauses. */
export function usePlan(draft: Json) {
  const text = JSON.stringify(draft);
  const [asked] = useDebouncedValue(text, PAUSE);
  const query = useQuery({
    queryKey: ["dry-run", asked],
    queryFn: async ({ signal }) => {
      const body = asSpec(JSON.parse(asked));
      const { data } = await validateExperiment({ body, signal, throwOnError: true });
      return data;
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  return { query, settled: asked === text && !query.isFetching };
}
