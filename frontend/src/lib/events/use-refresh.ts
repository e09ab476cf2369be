import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import type { Throttled } from "./throttle";
import { useThrottled } from "./use-throttled";

/** A function that fetches anew whatever matches the key, at most once per `interval` ms and never twice at once. */
export function useRefresh(queryKey: QueryKey, interval: number): Throttled {
  const client = useQueryClient();
  return useThrottled(() => client.invalidateQueries({ queryKey }, { cancelRefetch: false }), interval);
}
