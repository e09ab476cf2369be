import { useQuery } from "@tanstack/react-query";
import { readProviderOptions } from "@/lib/client/@tanstack/react-query.gen";

/** The provider that users may sign in through, and what is said of a problem with it; undefined until it is known. */
export function useProvider(problem?: string) {
  const query = problem === undefined ? {} : { query: { problem: problem.slice(0, 40) } };
  return useQuery({ ...readProviderOptions(query), staleTime: 60_000 }).data;
}
