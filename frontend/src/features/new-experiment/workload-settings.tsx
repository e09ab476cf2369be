import type { WorkloadView } from "@/lib/client/types.gen";
import { isJson, type Json, type Path, textAt, valueAt } from "@/lib/json/document";
import styles from "./form.module.css";
import { useForm } from "./form-context";
import { SchemaForm } from "./schema-form";

/**
 * The part of a workload's schema that a variant may set: how it is trained, not what is learned. Defaults are the
 * values that the workload has in this experiment.
 */
export function settable(schema: unknown, given: unknown): Json | undefined {
  if (!isJson(schema) || !isJson(schema.properties)) return undefined;
  const values = isJson(given) ? given : {};
  const fields = Object.entries(schema.properties).flatMap(([name, field]) =>
    isJson(field) && field.per_variant === true
      ? [[name, name in values ? { ...field, default: values[name] } : field] as const]
      : [],
  );
  return fields.length > 0 ? { ...schema, properties: Object.fromEntries(fields) } : undefined;
}

/** Parameters of the workload that one variant sets. */
export function WorkloadSettings({ workloads, path }: { workloads: readonly WorkloadView[]; path: Path }) {
  const { draft } = useForm();
  const workload = workloads.find((one) => one.name === textAt(draft, ["workload", "name"]));
  const schema = settable(workload?.parameters, valueAt(draft, ["workload", "parameters"]));
  const place = [...path, "workload_settings"];
  const values = valueAt(draft, place);
  const names = isJson(values) ? Object.keys(values) : [];
  if (!schema) return null;
  return (
    <details className={styles.details} data-testid="workload-settings" open={names.length > 0 || undefined}>
      <summary>Settings of the workload{names.length > 0 && `: ${names.join(", ")}`}</summary>
      <SchemaForm schema={schema} path={place} />
    </details>
  );
}
