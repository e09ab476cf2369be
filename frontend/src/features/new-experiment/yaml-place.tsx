import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { explain } from "@/lib/api/problem";
import { LoadFault } from "@/lib/ui/load-fault";
import { ONCE, useSchema } from "./use-schema";
import styles from "./yaml.module.css";
import type { YamlPartProps } from "./yaml-part";

/** The specification as YAML. The editor is loaded when it is first opened. */
export function YamlPlace(props: Omit<YamlPartProps, "schema">) {
  const code = useQuery({ queryKey: ["yaml editor"], queryFn: () => import("./yaml-part"), ...ONCE });
  const schema = useSchema(true);
  if (code.isError) return <LoadFault what="The editor could not be loaded." query={code} />;
  // what a clone need not say is known by the schema, and its text would change under the eyes
  if (!code.data || (props.cloned && schema.isPending)) {
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
