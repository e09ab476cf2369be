import { useQuery } from "@tanstack/react-query";
import { client } from "@/lib/client/client.gen";
import type { Shape } from "@/lib/yaml/shapes";

/** Of what does not change while the dashboard is open. */
export const ONCE = {
  staleTime: "static",
  gcTime: Number.POSITIVE_INFINITY,
  structuralSharing: false,
} as const;

/** The schema of an experiment, which is a part of the description of the API; null: that has none. */
export function useSchema(enabled: boolean) {
  return useQuery({
    queryKey: ["schema of an experiment"],
    queryFn: async ({ signal }): Promise<Shape | null> => {
      const [{ schemaIn }, { data }] = await Promise.all([
        import("./knowledge"),
        client.get<{ 200: unknown }, unknown, true>({ url: "/api/openapi.json", signal, throwOnError: true }),
      ]);
      return schemaIn(data) ?? null;
    },
    enabled,
    ...ONCE,
  });
}
