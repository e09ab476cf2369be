import { useQuery } from "@tanstack/react-query";
import { readMeOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { Me, Role } from "@/lib/client/types.gen";
import { refusal } from "./roles";

/** Who uses this browser; undefined while it is not known. */
export function useMe(): Me | undefined {
  return useQuery({ ...readMeOptions(), staleTime: 60_000 }).data;
}

/** Why the user may not do what needs a role; undefined: they may. */
export function useRefusal(least: Role, of?: string): string | undefined {
  return refusal(useMe(), least, of);
}
