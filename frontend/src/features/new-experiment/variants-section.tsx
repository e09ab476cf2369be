import { Group, NativeSelect } from "@mantine/core";
import { useState } from "react";
import type { AlgorithmList, WorkloadView } from "@/lib/client/types.gen";
import { objectsAt } from "@/lib/json/document";
import { Section } from "@/lib/ui/section";
import ui from "@/lib/ui/ui.module.css";
import { AddVariant } from "./algorithm-picker";
import { withVariant } from "./draft";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { type Column, columnsOf, possibleColumns } from "./grid";
import { VariantCard } from "./variant-card";
import { VariantRow } from "./variant-row";
import own from "./variants.module.css";

interface VariantsProps {
  catalogue: AlgorithmList;
  workloads: readonly WorkloadView[];
}

/** The methods to compare, a row each; the colour is the one that every chart will use. */
export function VariantsSection({ catalogue, workloads }: VariantsProps) {
  const { draft, change, open, present } = useForm();
  const { control, error } = useField(["variants"]);
  const baseline = useField(["baseline"]);
  return (
    <Section
      title={present ? "New variants" : "Variants"}
      testId="variants"
      aside={
        <AddVariant
          algorithms={catalogue.items}
          add={(algorithm) => {
            open(objectsAt(draft, ["variants"]).length);
            change((old) => withVariant(old, algorithm, present));
          }}
        />
      }
    >
      <div {...control} tabIndex={-1}>
        {error && <p className={styles.error}>{error}</p>}
        <div {...baseline.control} tabIndex={-1}>
          {baseline.error && <p className={styles.error}>Baseline: {baseline.error}</p>}
        </div>
        <VariantGrid catalogue={catalogue} workloads={workloads} />
      </div>
    </Section>
  );
}

/** Rows are variants, columns the parameters in which they differ from defaults; one variant at a time is open. */
function VariantGrid({ catalogue, workloads }: VariantsProps) {
  const { draft, opened, present } = useForm();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [held, setHeld] = useState<string>(); // a column in which is typed stays when its last value goes
  const algorithms = catalogue.items;
  const columns = columnsOf(draft, algorithms, held === undefined ? chosen : [...chosen, held]);
  const variants = objectsAt(draft, ["variants"]);
  if (variants.length === 0) return null;
  return (
    <>
      <div className={ui.scroll}>
        <table className={own.table}>
          <thead>
            <tr>
              <th scope="col">Variant</th>
              {columns.map(({ name, title }) => (
                <th key={name} scope="col" className={own.value}>
                  {title}
                </th>
              ))}
              {!present && <th scope="col">Baseline</th>}
              <td />
            </tr>
          </thead>
          {variants.map((_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a variant has no identity but its place, as in the document
            <tbody key={index} data-testid="variant-card">
              <VariantRow
                index={index}
                columns={columns}
                algorithms={algorithms}
                communication={catalogue.communication}
                held={setHeld}
              />
              {opened === index && (
                <tr className={own.opened}>
                  <td colSpan={columns.length + (present ? 2 : 3)}>
                    <div className={styles.cards}>
                      <VariantCard index={index} catalogue={catalogue} workloads={workloads} />
                    </div>
                  </td>
                </tr>
              )}
            </tbody>
          ))}
        </table>
      </div>
      <ColumnChoice
        columns={possibleColumns(draft, algorithms).filter(
          ({ name }) => !columns.some((one) => one.name === name),
        )}
        choose={(name) => setChosen([...chosen, name])}
      />
    </>
  );
}

/** Another parameter to be a column, so that it can be set in every row. */
function ColumnChoice({ columns, choose }: { columns: readonly Column[]; choose: (name: string) => void }) {
  return (
    <Group justify="space-between" gap="8px 16px" mt={10}>
      <p className={own.hint}>
        Pale values are defaults. Several values, separated by commas, make one variant each.
      </p>
      {columns.length > 0 && (
        <NativeSelect
          size="xs"
          w={180}
          aria-label="Add a column"
          data={[
            { value: "", label: "Add a column" },
            ...columns.map(({ name, title }) => ({ value: name, label: title })),
          ]}
          value=""
          onChange={(event) => event.currentTarget.value && choose(event.currentTarget.value)}
        />
      )}
    </Group>
  );
}
