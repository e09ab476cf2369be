import type { ProjectView } from "@/lib/client/types.gen";
import { openOnes, useProjects } from "./use-projects";

/** Those of some projects into which the user may move what is in others now; none where there is no other one. */
export function targetsOf(projects: readonly ProjectView[], now: readonly string[]): readonly string[] {
  const open = openOnes(projects).map(({ name }) => name);
  return open.filter((name) => now.some((each) => each !== name));
}

export function useTargets(now: readonly string[]): readonly string[] {
  return targetsOf(useProjects(), now);
}
