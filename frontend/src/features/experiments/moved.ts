import { moveExperiment } from "@/lib/client/sdk.gen";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import type { Deed } from "./use-actions";

/** Moves experiments into a project, and each back into its own. */
export function moved(project: string, items: readonly ExperimentSummary[]): Deed {
  const before = new Map(items.map((item) => [item.id, item.project]));
  const into = (id: string, name: string) =>
    moveExperiment({ path: { experiment_id: id }, body: { project: name }, throwOnError: true });
  return {
    did: `now in the project ${project}`,
    act: (id) => into(id, project),
    back: (id) => into(id, before.get(id) ?? project),
  };
}
