import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { readExperimentQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import { extendExperiment, validateExtension } from "@/lib/client/sdk.gen";
import type { ExperimentView, Extension } from "@/lib/client/types.gen";
import { type Json, objectsAt } from "@/lib/json/document";
import { useJudged } from "./use-plan";

/** What is asked of the server: the variants of the draft, for the version that the form began from. */
export function extensionOf(draft: Json, version: number | undefined): Extension {
  return { variants: objectsAt(draft, ["variants"]), version } as unknown as Extension;
}

/** What the variants of a draft would add to an experiment; nothing is asked while there is none. */
export function useExtensionPlan(experiment: ExperimentView, draft: Json) {
  const asked = extensionOf(draft, experiment.version);
  const path = { experiment_id: experiment.id };
  const text = asked.variants?.length ? JSON.stringify(asked) : undefined;
  return useJudged(text, ["extension", experiment.id], async (body, signal) => {
    const { data } = await validateExtension({ path, body: JSON.parse(body), signal, throwOnError: true });
    return data;
  });
}

/** Of the request that adds variants. */
export const extendingKey = (id: string) => ["extend", id];

/** Add the variants of a draft, and go to the experiment; the version that it names keeps a repeated one out. */
export function useExtend(experiment: ExperimentView, done: () => void) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const path = { experiment_id: experiment.id };
  return useMutation({
    mutationKey: extendingKey(experiment.id),
    mutationFn: async (draft: Json) => {
      const body = extensionOf(draft, experiment.version);
      return (await extendExperiment({ path, body, throwOnError: true })).data;
    },
    onSuccess: async (view) => {
      done();
      await navigate({ to: "/experiments/$experimentId", params: { experimentId: view.id } });
      client.setQueryData(readExperimentQueryKey({ path }), view); // here it would close the form at once
    },
    // what events told of meanwhile
    onError: () => void client.invalidateQueries({ queryKey: readExperimentQueryKey({ path }) }),
  });
}
