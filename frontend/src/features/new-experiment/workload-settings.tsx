import type { WorkloadView } from "@/lib/client/types.gen";
import { isJson, type Path, textAt, valueAt } from "@/lib/json/document";
import styles from "./form.module.css";
import { useForm } from "./form-context";
import { SchemaForm } from "./schema-form";
import { tunes } from "./searched";
import { searchedSettings, settable } from "./searched-workload";

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
      <SchemaForm
        schema={schema}
        path={place}
        searched={tunes(draft) ? searchedSettings(valueAt(draft, path)) : undefined}
      />
    </details>
  );
}
