import { Section } from "@/lib/ui/section";
import { ChoiceField, NumberField, SwitchField } from "./fields";
import { RetryFields } from "./retry-fields";
import { SchemaForm } from "./schema-form";

const ON_BAD_WORKER = [
  { value: "fail", label: "fail the run" },
  { value: "drop", label: "continue without it, if the algorithm can" },
];

/** How gradients are computed, alike for every variant, and what is kept on the way. */
export function ExecutionSection({ compute }: { compute: unknown }) {
  return (
    <Section title="Execution" testId="execution">
      <SchemaForm schema={compute} path={["compute"]}>
        <NumberField
          path={["checkpoint_every"]}
          label="Checkpoint every"
          description="Samples between checkpoints; empty: none"
          nullable
        />
        <NumberField
          path={["budget", "max_stall_seconds"]}
          label="Stall limit"
          description="Seconds without a step after which ranks count as hung; empty: 60"
        />
        <ChoiceField
          path={["on_bad_worker"]}
          label="NaN or Inf on a worker"
          description="What happens to the run"
          fallback="fail"
          choices={ON_BAD_WORKER}
        />
      </SchemaForm>
      <SwitchField
        path={["trace"]}
        label="Record a timeline"
        description="Phases and messages of every rank, shown on the run's page. Adds about 20 µs per step and up to 8 MiB per run"
        fallback={false}
        mt={18}
      />
      <RetryFields />
    </Section>
  );
}
