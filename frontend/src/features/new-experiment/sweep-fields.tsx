import { Button, NativeSelect, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { AlgorithmView } from "@/lib/client/types.gen";
import { textAt, valueAt } from "@/lib/json/document";
import { fieldsFromSchema } from "@/lib/json/fields-from-schema";
import type { Scalar } from "@/lib/spaces/words";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import own from "./search-spaces.module.css";
import { choicesFrom, choicesText } from "./searched";
import { countOf, firstValues, sweepable, sweepOf, withSweep } from "./sweeps";

/** Several values of a parameter: the card then stands for a variant per value. */
export function SweepFields({ index, algorithm }: { index: number; algorithm: AlgorithmView }) {
  const { draft, change } = useForm();
  const variant = valueAt(draft, ["variants", index]);
  const { control, error } = useField(["variants", index, "sweep"]);
  const swept = Object.entries(sweepOf(variant));
  const fields = fieldsFromSchema(algorithm.parameters);
  const others = sweepable(variant, algorithm);
  const count = countOf(variant);
  return (
    <details className={styles.details} open={swept.length > 0 || undefined} data-testid="sweep">
      <summary>
        {swept.length === 0 ? "Sweep a parameter" : `Sweep: this card makes ${count} variants`}
      </summary>
      <div {...control} tabIndex={-1}>
        {error && <p className={styles.error}>{error}</p>}
        {swept.map(([name, values]) => (
          <SweptField
            key={name}
            index={index}
            name={name}
            title={fields.find((field) => field.name === name)?.title ?? name}
            values={values}
          />
        ))}
        {swept.length > 0 && (
          <Text fz={13} lh={1.5} c="dimmed" maw="76ch" mt={10}>
            Named “{textAt(variant, ["name"])} (
            {swept.map(([name, values]) => `${name} ${choicesText(values.slice(0, 1))}`).join(", ")})” and so
            on. If this is the baseline, the variant with the first values is used.
          </Text>
        )}
        {others.length > 0 && (
          <NativeSelect
            size="xs"
            mt={8}
            w={220}
            aria-label="Sweep another parameter"
            data={[
              { value: "", label: swept.length > 0 ? "Sweep another parameter" : "Choose a parameter" },
              ...others.map((field) => ({ value: field.name, label: field.title })),
            ]}
            value=""
            onChange={(event) => {
              const field = others.find((one) => one.name === event.currentTarget.value);
              if (!field) return;
              const value = valueAt(variant, ["parameters", field.name]);
              change((old) => withSweep(old, index, field.name, firstValues(field, value)));
            }}
          />
        )}
      </div>
    </details>
  );
}

interface SweptProps {
  index: number;
  name: string;
  title: string;
  values: readonly Scalar[];
}

function SweptField({ index, name, title, values }: SweptProps) {
  const { change } = useForm();
  const { control, error } = useField(["variants", index, "sweep", name]);
  const [typed, setTyped] = useState<string>();
  const current = choicesText(values);
  const agrees = typed !== undefined && choicesText(choicesFrom(typed)) === current;
  return (
    <div className={own.swept}>
      <TextInput
        {...control}
        label={`${title}: values, separated by commas`}
        error={error}
        autoComplete="off"
        value={agrees ? typed : current}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          change((old) => withSweep(old, index, name, choicesFrom(text)));
        }}
      />
      <Button
        size="compact-xs"
        variant="subtle"
        color="gray"
        aria-label={`Remove sweep: ${title}`}
        onClick={() => change((old) => withSweep(old, index, name, undefined))}
      >
        Remove
      </Button>
    </div>
  );
}
