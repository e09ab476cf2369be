import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { isJson, type Json } from "@/lib/json/document";
import { type Change, changesOf } from "./changes";
import type { Catalogues } from "./knowledge";
import { ONCE, useSchema } from "./use-schema";

/**
 * What the draft of a clone has differently. What it does not say is no change where the original has the default: its YAML
 * leaves that out. Only then is the schema asked for.
 */
export function useChanges(
  original: Json | undefined,
  draft: Json,
  { algorithms, workloads, clusters }: Catalogues,
): readonly Change[] | undefined {
  const all = useMemo(() => original && changesOf(original, draft), [original, draft]);
  const lacks = all?.some(({ after }) => after === undefined) ?? false;
  const schema = useSchema(lacks).data;
  const code = useQuery({
    queryKey: ["defaults of an experiment"],
    queryFn: async () => {
      const [{ knowledgeOf }, { withoutDefaults }] = await Promise.all([
        import("./knowledge"),
        import("@/lib/yaml/defaults"),
      ]);
      return { knowledgeOf, withoutDefaults };
    },
    enabled: lacks,
    ...ONCE,
  }).data;
  return useMemo(() => {
    if (!original || !all || !lacks || !schema || !code) return all;
    const known = code.knowledgeOf(schema, { algorithms, workloads, clusters });
    const tuned = isJson(draft.tuning); // now: what was the default without trials is searched by them
    const bare = (document: Json) => code.withoutDefaults(document, known, tuned);
    const places = new Set(changesOf(bare(original), bare(draft)).map(({ place }) => place));
    return all.filter(({ place }) => places.has(place));
  }, [original, draft, all, lacks, schema, code, algorithms, workloads, clusters]);
}
