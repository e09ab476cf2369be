import { openOnes, useProjects } from "./use-projects";

/** The projects into which the user may move what is in some projects now; none where there is no other one. */
export function useTargets(now: readonly string[]): readonly string[] {
  const open = openOnes(useProjects()).map(({ name }) => name);
  return open.filter((name) => now.some((each) => each !== name));
}
