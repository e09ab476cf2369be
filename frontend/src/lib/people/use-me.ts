import { useQuery } from "@tanstack/react-query";
import { readMeOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { Me, Role } from "@/lib/client/types.gen";
import { includes, refusal } from "./roles";

/** Who uses this browser; undefined while it is not known. */
export function useMe(): Me | undefined {
  return useQuery({ ...readMeOptions(), staleTime: 60_000 }).data;
}

/** Why the user may not do what needs a role; undefined: they may. */
export function useRefusal(least: Role, of?: string, inProject?: boolean): string | undefined {
  return refusal(useMe(), least, of, inProject);
}

/** Whether it is known that the user may do what needs a role: before something is read that others may not read. */
export function useMay(least: Role): boolean {
  const me = useMe();
  return me !== undefined && includes(me.role, least);
}
