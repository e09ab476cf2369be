import { Checkbox, Group, Switch } from "@mantine/core";
import type { RetryPolicy } from "@/lib/client/types.gen";
import { isJson, valueAt, withValue } from "@/lib/json/document";
import { NumberField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";

/** What the specification means by a policy that says nothing. */
const USUAL: RetryPolicy = {
  attempts: 3,
  backoff_seconds: 10,
  longest_backoff_seconds: 600,
  causes: ["infrastructure", "lost", "time_limit"],
};
const CAUSES = [
  ["infrastructure", "A rank, mpirun, a host or a disk died"],
  ["lost", "Contact was lost, and the run is proven dead"],
  ["time_limit", "The scheduler's time limit ended it"],
] as const;

/** Further attempts after ends without a fault of the run; off: the server's default. */
export function RetryFields() {
  const { draft, change } = useForm();
  const given = isJson(valueAt(draft, ["retry"]));
  return (
    <>
      <Switch
        mt={18}
        label="Own retry policy"
        description="Off: the server's default, normally up to three attempts"
        data-testid="has-retry"
        checked={given}
        onChange={(event) => {
          const on = event.currentTarget.checked;
          change((old) => withValue(old, ["retry"], on ? USUAL : undefined));
        }}
      />
      {given && (
        <>
          <div className={styles.grid}>
            <NumberField
              path={["retry", "attempts"]}
              label="Attempts"
              description="Failed attempts allowed, 1 to 100; 1: no retry"
              fallback={USUAL.attempts}
            />
            <NumberField
              path={["retry", "backoff_seconds"]}
              label="Pause"
              description="Seconds before the second attempt; doubles after each failure"
              fallback={USUAL.backoff_seconds}
            />
            <NumberField
              path={["retry", "longest_backoff_seconds"]}
              label="Longest pause"
              description="Seconds"
              fallback={USUAL.longest_backoff_seconds}
            />
          </div>
          <Causes />
        </>
      )}
    </>
  );
}

function Causes() {
  const { value, set, error, control } = useField(["retry", "causes"]);
  const chosen = Array.isArray(value) ? value.map(String) : [...(USUAL.causes ?? [])];
  return (
    <Checkbox.Group {...control} mt={14} label="After" error={error} value={chosen} onChange={set}>
      <Group gap="8px 22px" mt={4}>
        {CAUSES.map(([cause, label]) => (
          <Checkbox key={cause} value={cause} label={label} size="xs" />
        ))}
      </Group>
    </Checkbox.Group>
  );
}
