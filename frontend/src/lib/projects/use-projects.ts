import { useQuery } from "@tanstack/react-query";
import { listProjectsOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ProjectView } from "@/lib/client/types.gen";
import { includes } from "@/lib/people/roles";

/** The project that every server has, and in which everybody is. */
export const DEFAULT = "default";

const NONE: readonly ProjectView[] = [];

/** The projects that the user reaches, the default one first; none while they are not known. */
export function useProjects(): readonly ProjectView[] {
  return useQuery({ ...listProjectsOptions(), staleTime: 60_000 }).data?.items ?? NONE;
}

/** Those of some projects that the user may put experiments into. */
export function openOnes(projects: readonly ProjectView[]): readonly ProjectView[] {
  return projects.filter(({ archived, role }) => !archived && includes(role, "researcher"));
}

/** What the server is asked to put something into; nothing to say for the default project. */
export function intoQuery(project: string | undefined): { project: string } | undefined {
  return project === undefined || project === DEFAULT ? undefined : { project };
}
