import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { flushSync } from "react-dom";
import { faultsOf } from "@/lib/api/problem";
import type { AlgorithmList, ExperimentView, WorkloadView } from "@/lib/client/types.gen";
import { type Json, objectsAt } from "@/lib/json/document";
import { FullNote } from "@/lib/projects/quota-note";
import { asPresent } from "./as-present";
import { DraftNote } from "./draft-note";
import { faultsByField, faultsIn } from "./faults";
import styles from "./form.module.css";
import { FormContext } from "./form-context";
import { PlanPanel } from "./plan-panel";
import { PlanSide } from "./plan-side";
import { PresentVariants } from "./present-variants";
import { countOf } from "./sweeps";
import { ToStart } from "./to-start";
import { useDraft } from "./use-draft";
import { useExtend, useExtensionPlan } from "./use-extension";
import { focusField, useFields } from "./use-fields";
import { useOpened, variantOf } from "./use-opened";
import { VariantsSection } from "./variants-section";

interface ExtensionProps {
  experiment: ExperimentView;
  algorithms: AlgorithmList;
  workloads: readonly WorkloadView[];
}

/** What the fields of a variant need to know of the experiment; its own variants are not part of it. */
export function emptyExtension({ spec }: ExperimentView): Json {
  const { workload, tuning } = spec;
  return { workload, ...(tuning ? { tuning } : {}), variants: [] };
}

/** Further variants of an experiment that has ended, and beside them what they would run. */
export function Extension({ experiment, algorithms, workloads }: ExtensionProps) {
  const { draft, replaced, ...edit } = useDraft(emptyExtension(experiment), `extend ${experiment.id}`);
  const catalogue = useMemo(() => asPresent(algorithms, experiment), [algorithms, experiment]);
  const rows = useOpened();
  const form = useRef<HTMLDivElement>(null);
  const fields = useFields(form);
  const variants = objectsAt(draft, ["variants"]);
  const count = variants.reduce((sum, variant) => sum + countOf(variant), 0);
  const { query, settled } = useExtensionPlan(experiment, draft);
  const post = useExtend(experiment, edit.started);
  const own = faultsIn(draft);
  const said = count > 0 ? (query.error ?? post.error) : null;
  const faults = own.length > 0 ? own : faultsOf(said);
  const refused = post.isError && faults.length === 0 && !query.isError;

  const change = (next: (old: Json) => Json) => {
    post.reset();
    edit.change(next);
  };
  const focus = (pointer: string) => {
    const variant = variantOf(pointer);
    if (variant !== undefined) flushSync(() => rows.open(variant));
    focusField(pointer, form.current);
  };
  const startable = {
    problems: faults.length,
    ready: count > 0 && settled && !query.isError && faults.length === 0,
    starting: post.isPending || post.isSuccess,
    words: count === 0 ? "Add variants" : `Add ${count} ${count === 1 ? "variant" : "variants"}`,
    start: () => post.mutate(draft),
  };
  const told = { faults: faultsByField(faults, fields), problems: faults, present: experiment.variants };
  return (
    <FormContext value={{ draft, change, ...told, ...rows }}>
      <ToStart />
      <h1 className={styles.title}>Add variants</h1>
      <Text fz={13} lh={1.5} c="dimmed" maw="76ch" mt={10}>
        To{" "}
        <Link to="/experiments/$experimentId" params={{ experimentId: experiment.id }}>
          #{experiment.number} <bdi>{experiment.name}</bdi>
        </Link>
        , as its version {(experiment.version ?? 1) + 1}. Existing results stay unchanged. All variants are
        compared as one experiment, so each claim is corrected for more comparisons.
      </Text>
      <DraftNote replaced={replaced} before={() => post.reset()} />
      <div className={styles.columns}>
        <div ref={form} className={styles.form} data-testid="form">
          <FullNote project={experiment.project} />
          <PresentVariants experiment={experiment} algorithms={algorithms.items} />
          <VariantsSection catalogue={catalogue} workloads={workloads} />
        </div>
        <PlanSide
          query={query}
          settled={settled}
          startable={startable}
          refused={refused ? post.error : null}
          title="The variants could not be added"
          planned={count > 0}
        >
          {count === 0 ? (
            <p className={styles.source} data-testid="nothing-added">
              Add a variant to see the plan.
            </p>
          ) : (
            <PlanPanel
              plan={query.data}
              error={own.length > 0 ? own : (query.error ?? (refused ? null : post.error))}
              faults={faults}
              settled={settled}
              focus={focus}
              refused="The experiment cannot be extended"
            />
          )}
        </PlanSide>
      </div>
    </FormContext>
  );
}
