import { Button, Radio } from "@mantine/core";
import type { AlgorithmList, WorkloadView } from "@/lib/client/types.gen";
import { isJson, objectsAt, textAt, valueAt } from "@/lib/json/document";
import { Section } from "@/lib/ui/section";
import { Toolbar } from "@/lib/ui/toolbar";
import { VariantLine } from "@/lib/ui/variant-chip";
import { AddVariant, AlgorithmField } from "./algorithm-picker";
import { Documentation } from "./documentation";
import { withCopy, withoutVariant, withVariant } from "./draft";
import { TextField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { SchemaForm } from "./schema-form";
import { SearchSpaces } from "./search-spaces";
import { free, tunes } from "./searched";
import { Source } from "./source";
import { SweepFields } from "./sweep-fields";
import { positionOf, sweepOf } from "./sweeps";
import own from "./variants.module.css";
import { WorkloadSettings } from "./workload-settings";

/** The methods to compare, one card each; the colour is the one that every chart will use. */
export function VariantsSection({
  catalogue,
  workloads,
}: {
  catalogue: AlgorithmList;
  workloads: readonly WorkloadView[];
}) {
  const { draft, change } = useForm();
  const { control, error } = useField(["variants"]);
  const baseline = useField(["baseline"]);
  return (
    <Section
      title="Variants"
      testId="variants"
      aside={
        <AddVariant
          algorithms={catalogue.items}
          add={(algorithm) => change((old) => withVariant(old, algorithm))}
        />
      }
    >
      <div {...control} tabIndex={-1}>
        {error && <p className={styles.error}>{error}</p>}
        <div {...baseline.control} tabIndex={-1}>
          {baseline.error && <p className={styles.error}>Baseline: {baseline.error}</p>}
        </div>
        <div className={styles.cards}>
          {objectsAt(draft, ["variants"]).map((variant, index) => (
            <VariantCard
              // biome-ignore lint/suspicious/noArrayIndexKey: a variant has no identity but its place, as in the document
              key={index}
              index={index}
              algorithm={textAt(variant, ["algorithm"])}
              catalogue={catalogue}
              workloads={workloads}
            />
          ))}
        </div>
      </div>
    </Section>
  );
}

/** Fields of `communication` that say nothing beside the values of the others. */
export function meaningless(communication: unknown): string[] {
  const chosen = isJson(communication) ? communication : {};
  return [
    ...(chosen.packing === "buckets" ? [] : ["bucket_bytes"]),
    ...(chosen.wire === undefined || chosen.wire === "fp32" ? ["error_feedback"] : []),
    ...(chosen.wire === "top-k" ? [] : ["wire_share"]),
  ];
}

function VariantCard({
  index,
  algorithm,
  catalogue,
  workloads,
}: {
  index: number;
  algorithm: string;
  catalogue: AlgorithmList;
  workloads: readonly WorkloadView[];
}) {
  const { draft, change } = useForm();
  const path = ["variants", index] as const;
  const known = catalogue.items.find((one) => one.name === algorithm);
  return (
    <fieldset className={styles.card} data-testid="variant-card">
      <legend className={styles.legend}>
        <VariantLine index={positionOf(draft, index)} width={28} /> Variant {index + 1}
      </legend>
      <div className={styles.cardActions}>
        <Radio
          size="xs"
          label="Baseline"
          name="baseline"
          data-testid="baseline"
          checked={draft.baseline === index}
          onChange={() => change((old) => ({ ...old, baseline: index }))}
        />
        <Toolbar label={`Variant ${index + 1}`} className={own.tools}>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            onClick={() => change((old) => withCopy(old, index))}
          >
            Duplicate
          </Button>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            onClick={() => change((old) => withoutVariant(old, index))}
          >
            Remove
          </Button>
        </Toolbar>
      </div>
      <div className={styles.pair}>
        <TextField path={[...path, "name"]} label="Name" />
        <AlgorithmField
          path={[...path, "algorithm"]}
          algorithms={catalogue.items}
          onChoice={(value) =>
            change((old) => {
              const variants = objectsAt(old, ["variants"]);
              const { search, sweep, ...kept } = variants[index] ?? {}; // spaces and sweeps are of the parameters of the old one
              const next = { ...kept, algorithm: value, parameters: {} };
              return { ...old, variants: variants.with(index, next) };
            })
          }
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
          <a href={`/algorithms/${known.name}`} target="_blank" rel="noreferrer" className={own.about}>
            Parameters, and what tests verify
          </a>
        </details>
      )}
    </fieldset>
  );
}
