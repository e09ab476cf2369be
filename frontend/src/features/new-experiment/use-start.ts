import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { newKey } from "@/lib/api/new-key";
import { createExperiment } from "@/lib/client/sdk.gen";
import type { Json } from "@/lib/json/document";
import { intoQuery } from "@/lib/projects/use-projects";
import { asSpec } from "./use-plan";

/**
 * Submit. Until the draft changes every request carries the same key, so that neither a double click nor a second
 * try after an answer that got lost makes a second experiment.
 */
export function useStart(project: string, started: () => void) {
  const navigate = useNavigate();
  const [key, setKey] = useState(newKey);
  const post = useMutation({
    mutationFn: async (draft: Json) => {
      const headers = { "Idempotency-Key": key };
      const query = intoQuery(project);
      const { data } = await createExperiment({ body: asSpec(draft), query, headers, throwOnError: true });
      return data;
    },
    onSuccess: ({ id }) => {
      started();
      return navigate({ to: "/experiments/$experimentId", params: { experimentId: id } });
    },
  });
  const renew = () => {
    post.reset();
    setKey(newKey());
  };
  return { post, renew };
}
