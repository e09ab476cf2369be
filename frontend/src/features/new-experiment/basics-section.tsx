import { Switch } from "@mantine/core";
import type { WorkloadView } from "@/lib/client/types.gen";
import { isJson, objectsAt, textAt, valueAt } from "@/lib/json/document";
import { Section } from "@/lib/ui/section";
import { Documentation } from "./documentation";
import { ChoiceField, LongTextField, NumberField, TextField } from "./fields";
import styles from "./form.module.css";
import { useForm } from "./form-context";
import { SchemaForm } from "./schema-form";
import { Source } from "./source";

const SHARDINGS = [
  { value: "iid", label: "i.i.d. stream per worker" },
  { value: "disjoint", label: "disjoint shards" },
  { value: "dispatched", label: "every item once per epoch, handed out" },
];
const METRICS = [
  { value: "validation_accuracy", label: "validation accuracy" },
  { value: "validation_loss", label: "validation loss" },
];

/** What the experiment is called and what it trains. */
export function WorkloadSection({ workloads }: { workloads: readonly WorkloadView[] }) {
  const { draft, change } = useForm();
  const chosen = workloads.find((one) => one.name === textAt(draft, ["workload", "name"]));
  return (
    <Section title="Workload" testId="workload">
      <div className={styles.grid}>
        <div className={styles.wide}>
          <TextField path={["name"]} label="Name of the experiment" required />
        </div>
        <div className={styles.wide}>
          <LongTextField path={["description"]} label="Description" />
        </div>
        <ChoiceField
          path={["workload", "name"]}
          label="Workload"
          description={chosen?.title ?? "Data set, model and loss"}
          choices={workloads.map((one) => ({ value: one.name, label: one.name }))}
          onChoice={(name) =>
            change((old) => {
              const target = workloads.find((one) => one.name === name)?.target;
              const accuracy =
                valueAt(old, ["target", "metric"]) === "validation_accuracy" && typeof target === "number";
              return {
                ...old,
                workload: { name, parameters: {} },
                variants: objectsAt(old, ["variants"]).map(({ workload_settings: _, ...kept }) => kept),
                target: accuracy ? { metric: "validation_accuracy", value: target } : old.target,
              };
            })
          }
        />
        <NumberField path={["batch"]} label="Batch" description="Samples per worker and step" fallback={32} />
        <ChoiceField
          path={["sharding"]}
          label="Data"
          description="What each worker draws from"
          fallback="iid"
          choices={SHARDINGS}
        />
      </div>
      {chosen && (
        <details className={styles.details}>
          <summary>Parameters of the workload</summary>
          {chosen.origin !== "built-in" && <Source offered={chosen} />}
          <SchemaForm schema={chosen.parameters} path={["workload", "parameters"]} />
          <Documentation text={chosen.documentation} />
        </details>
      )}
    </Section>
  );
}

/** When a run ends, and what counts as solved. */
export function BudgetSection({ workloads }: { workloads: readonly WorkloadView[] }) {
  const { draft, change } = useForm();
  const target = valueAt(draft, ["target"]);
  const usual = workloads.find((one) => one.name === textAt(draft, ["workload", "name"]))?.target ?? 0.95;
  return (
    <Section title="Budget and target" testId="budget">
      <div className={styles.grid}>
        <NumberField
          path={["budget", "samples"]}
          label="Samples"
          description="Gradients × batch, over all workers"
          required
        />
        <NumberField
          path={["evaluation", "every"]}
          label="Evaluate every"
          description="Samples between evaluations, which are not on the clock"
          required
        />
        <NumberField path={["budget", "max_seconds"]} label="Wall limit" description="Seconds; empty: none" />
        <NumberField
          path={["first_seed"]}
          label="First seed"
          description="The others follow it"
          fallback={0}
        />
      </div>
      <Switch
        mt={18}
        label="End at a target, and compare the time to target"
        data-testid="has-target"
        checked={isJson(target)}
        onChange={(event) => {
          const on = event.currentTarget.checked;
          change((old) => ({ ...old, target: on ? { metric: "validation_accuracy", value: usual } : null }));
        }}
      />
      {isJson(target) && (
        <div className={styles.grid}>
          <ChoiceField
            path={["target", "metric"]}
            label="Target metric"
            description="Of the center, on the validation part. The test part is scored once, at the end"
            fallback="validation_accuracy"
            choices={METRICS}
          />
          <NumberField
            path={["target", "value"]}
            label="Target value"
            description="Accuracy 0.95 means 95%"
          />
        </div>
      )}
    </Section>
  );
}
