import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { explain } from "@/lib/api/problem";
import { client } from "@/lib/client/client.gen";
import { LoadFault } from "@/lib/ui/load-fault";
import type { Shape } from "@/lib/yaml/shapes";
import styles from "./yaml.module.css";
import type { YamlPartProps } from "./yaml-part";

/** Neither changes while the dashboard is open. */
const ONCE = {
  staleTime: "static",
  gcTime: Number.POSITIVE_INFINITY,
  structuralSharing: false,
} as const;

/** The editor's code, and the schema of an experiment, which is a part of the description of the API. */
function useEditor() {
  const code = useQuery({ queryKey: ["yaml editor"], queryFn: () => import("./yaml-part"), ...ONCE });
  const schema = useQuery({
    queryKey: ["schema of an experiment"],
    queryFn: async ({ signal }): Promise<Shape | null> => {
      const [{ schemaIn }, { data }] = await Promise.all([
        import("./knowledge"),
        client.get<{ 200: unknown }, unknown, true>({ url: "/api/openapi.json", signal, throwOnError: true }),
      ]);
      return schemaIn(data) ?? null;
    },
    ...ONCE,
  });
  return { code, schema };
}

/** The specification as YAML. The editor is loaded when it is first opened. */
export function YamlPlace(props: Omit<YamlPartProps, "schema">) {
  const { code, schema } = useEditor();
  if (code.isError) return <LoadFault what="The editor could not be loaded." query={code} />;
  if (!code.data) {
    return (
      <div aria-busy="true">
        <Skeleton height={420} />
      </div>
    );
  }
  const { YamlPart } = code.data;
  return (
    <div className={styles.place} data-testid="yaml">
      <YamlPart {...props} schema={schema.data ?? undefined} />
      {schema.isError && <p className={styles.keys}>No completion: {explain(schema.error)}</p>}
      {schema.data === null && (
        <p className={styles.keys}>No completion: the server returned no schema. Sign in again.</p>
      )}
    </div>
  );
}
