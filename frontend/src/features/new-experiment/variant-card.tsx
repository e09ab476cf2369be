import { Button } from "@mantine/core";
import { flushSync } from "react-dom";
import type { AlgorithmList, WorkloadView } from "@/lib/client/types.gen";
import { fieldId, isJson, objectsAt, pointerOf, textAt, valueAt } from "@/lib/json/document";
import { Toolbar } from "@/lib/ui/toolbar";
import { AlgorithmField } from "./algorithm-picker";
import { Documentation } from "./documentation";
import { withAlgorithm, withCopy, withoutVariant } from "./draft";
import { TextField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { SchemaForm } from "./schema-form";
import { SearchSpaces } from "./search-spaces";
import { free, tunes } from "./searched";
import { Source } from "./source";
import { SweepFields } from "./sweep-fields";
import { sweepOf } from "./sweeps";
import own from "./variants.module.css";
import { WorkloadSettings } from "./workload-settings";

/** Fields of `communication` that say nothing beside the values of the others. */
export function meaningless(communication: unknown): string[] {
  const chosen = isJson(communication) ? communication : {};
  return [
    ...(chosen.packing === "buckets" ? [] : ["bucket_bytes"]),
    ...(chosen.wire === undefined || chosen.wire === "fp32" ? ["error_feedback"] : []),
    ...(chosen.wire === "top-k" ? [] : ["wire_share"]),
  ];
}

/** Change the rows; the focus, whose button goes with this card, is then on the row of a variant. */
function moved(to: number, change: () => void) {
  flushSync(change);
  document.getElementById(fieldId(pointerOf(["variants", to])))?.focus();
}

/** Everything of one variant, below its row. */
export function VariantCard({
  index,
  catalogue,
  workloads,
}: {
  index: number;
  catalogue: AlgorithmList;
  workloads: readonly WorkloadView[];
}) {
  const { draft, change, open, present } = useForm();
  const path = ["variants", index] as const;
  const known = catalogue.items.find((one) => one.name === textAt(draft, [...path, "algorithm"]));
  const { error } = useField(path);
  return (
    <fieldset className={styles.card}>
      <legend className={styles.legend}>Variant {index + 1}</legend>
      <div className={styles.cardActions}>
        <Toolbar label={`Variant ${index + 1}`} className={own.tools}>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            onClick={() =>
              moved(index + 1, () => {
                change((old) => withCopy(old, index, present));
                open(index + 1);
              })
            }
          >
            Duplicate
          </Button>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            onClick={() =>
              moved(Math.max(0, Math.min(index, objectsAt(draft, ["variants"]).length - 2)), () => {
                open(undefined);
                change((old) => withoutVariant(old, index));
              })
            }
          >
            Remove
          </Button>
        </Toolbar>
      </div>
      {error && <p className={styles.error}>{error}</p>}
      <div className={styles.pair}>
        <TextField path={[...path, "name"]} label="Name" />
        <AlgorithmField
          path={[...path, "algorithm"]}
          algorithms={catalogue.items}
          onChoice={(value) => {
            const chosen = catalogue.items.find(({ name }) => name === value);
            if (chosen && chosen !== known)
              change((old) => withAlgorithm(old, index, chosen, known, present));
          }}
        />
      </div>
      {known && (
        <SchemaForm
          schema={known.parameters}
          path={[...path, "parameters"]}
          without={Object.keys(sweepOf(valueAt(draft, path)))}
          searched={tunes(draft) ? free(valueAt(draft, path), known) : undefined}
        />
      )}
      {known && <SweepFields index={index} algorithm={known} />}
      {known && tunes(draft) && <SearchSpaces index={index} algorithm={known} workloads={workloads} />}
      <WorkloadSettings workloads={workloads} path={path} />
      <details className={styles.details}>
        <summary>Communication options</summary>
        <SchemaForm
          schema={catalogue.communication}
          path={[...path, "communication"]}
          without={meaningless(valueAt(draft, [...path, "communication"]))}
        />
      </details>
      {known && (
        <details className={styles.details}>
          <summary>About {known.title}</summary>
          {known.origin !== "built-in" && <Source offered={known} />}
          <Documentation text={known.documentation} />
          <a href={`/algorithms/${known.name}`} target="_blank" rel="noreferrer" className={own.more}>
            Parameters and verified properties
          </a>
        </details>
      )}
    </fieldset>
  );
}
