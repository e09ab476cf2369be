import { Box, Button, Switch, Text } from "@mantine/core";
import { useState } from "react";
import type { AlgorithmList, WorkloadView } from "@/lib/client/types.gen";
import { type Json, objectsAt, textAt, withValue } from "@/lib/json/document";
import { Section } from "@/lib/ui/section";
import { ChoiceField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { SchemaForm } from "./schema-form";
import { tunes, withoutTuning, withTuning } from "./searched";
import { SearchedList } from "./searched-list";

interface TuningProps {
  catalogue: AlgorithmList;
  workloads: readonly WorkloadView[];
}

/** Whether settings are chosen by trials, and how; the spaces are listed here and edited in the cards of the variants. */
export function TuningSection({ catalogue, workloads }: TuningProps) {
  const { draft, change } = useForm();
  const { control, error } = useField(["tuning"]);
  const [earlier, setEarlier] = useState<Json>();
  const on = tunes(draft);
  return (
    <Section title="Tuning" testId="tuning">
      <Switch
        {...control}
        label="Choose each variant's parameters by trial runs first"
        data-testid="has-tuning"
        error={error}
        checked={on}
        onChange={(event) => {
          if (event.currentTarget.checked) change((old) => withTuning(old, earlier));
          else {
            setEarlier(draft);
            change(withoutTuning);
          }
        }}
      />
      <Text fz={13} lh={1.5} c="dimmed" maw="76ch" mt={10}>
        {on
          ? "Every variant gets the same number of trials; the parameters to search are listed with each variant. The best setting is then measured on the experiment's seeds, which no trial uses."
          : "Parameters are as given: the comparison is then about these settings, not about the algorithms."}
      </Text>
      {on && <Continued />}
      {on && (
        <SchemaForm schema={catalogue.tuning} path={["tuning"]} without={withoutEffect(draft)}>
          <DecidingCluster />
        </SchemaForm>
      )}
      {on && (
        <Box mt={20}>
          <SearchedList algorithms={catalogue.items} workloads={workloads} />
        </Box>
      )}
    </Section>
  );
}

/** What the form shows elsewhere, or not: the samplers are those of Optuna. */
function withoutEffect(draft: Json): string[] {
  const [search, sampler] = [textAt(draft, ["tuning", "search"]), textAt(draft, ["tuning", "sampler"])];
  const written = ["spaces", "later", "given"];
  return ["cluster", "continues", ...written, ...(search === "optuna" || sampler ? [] : ["sampler"])];
}

/** The experiment whose trials count here, and the way to do without them. */
function Continued() {
  const { change } = useForm();
  const { value, error, control } = useField(["tuning", "continues"]);
  if (typeof value !== "string") return null;
  return (
    <div {...control} tabIndex={-1} data-testid="continues">
      {error && <p className={styles.error}>{error}</p>}
      <Text fz={13} lh={1.5} c="dimmed" maw="76ch" mt={10}>
        Continues an experiment: its trials are reused, and every variant gets the number of new trials given
        below. Only the spaces may change.{" "}
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => change((old) => withValue(old, ["tuning", "continues"], undefined))}
        >
          Do not reuse earlier trials
        </Button>
      </Text>
    </div>
  );
}

function DecidingCluster() {
  const { draft, change } = useForm();
  const names = objectsAt(draft, ["clusters"]).map((cluster) => textAt(cluster, ["name"]));
  return (
    <ChoiceField
      path={["tuning", "cluster"]}
      label="Trials on"
      description="One choice per cluster, or one for all"
      choices={[
        { value: "", label: "each cluster" },
        ...[...new Set(names)].filter(Boolean).map((name) => ({ value: name, label: `${name}, for all` })),
      ]}
      onChoice={(name) =>
        change((old) => {
          const { cluster, ...rest } = old.tuning as Json;
          return { ...old, tuning: name ? { ...rest, cluster: name } : rest };
        })
      }
    />
  );
}
