import { Alert, Button, Group, Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { faultsOf } from "@/lib/api/problem";
import type { AlgorithmList, ClusterView, WorkloadView } from "@/lib/client/types.gen";
import { type Json, textAt } from "@/lib/json/document";
import { ProjectPicker } from "@/lib/projects/project-picker";
import { FullNote } from "@/lib/projects/quota-note";
import { DEFAULT, openOnes, useProjects } from "@/lib/projects/use-projects";
import { asBegun, type Begun } from "@/lib/spaces/begun";
import { withNamedBaseline } from "./baseline";
import { BudgetSection, WorkloadSection } from "./basics-section";
import { ChangesPanel } from "./changes-panel";
import { ClustersSection } from "./clusters-section";
import { DraftNote } from "./draft-note";
import { type Example, placed } from "./examples";
import { ExecutionSection } from "./execution-section";
import { faultsByField, faultsIn } from "./faults";
import styles from "./form.module.css";
import { FormContext } from "./form-context";
import { JsonEditor } from "./json-editor";
import { Mode } from "./mode";
import { PlanPanel } from "./plan-panel";
import { PlanSide } from "./plan-side";
import { StartFrom } from "./start-from";
import { ToStart } from "./to-start";
import { TuningSection } from "./tuning-section";
import { useChanges } from "./use-changes";
import { useDraft } from "./use-draft";
import { focusField, useFields } from "./use-fields";
import { useOpened, variantOf } from "./use-opened";
import { usePlan } from "./use-plan";
import { useStart } from "./use-start";
import { VariantsSection } from "./variants-section";
import type { YamlHandle } from "./yaml-part";
import { YamlPlace } from "./yaml-place";

const route = getRouteApi("/new");

interface BuilderProps {
  start: Json;
  /** The experiment that is cloned. */
  original: Json | undefined;
  /** Of what the draft is kept while it is not started. */
  of: string;
  /** The search spaces with which that one was begun. */
  begun: Begun | undefined;
  /** The project that it is meant for, if that is known. */
  project: string | undefined;
  algorithms: AlgorithmList;
  workloads: readonly WorkloadView[];
  clusters: readonly ClusterView[];
}

/** The form, or the document as YAML, and beside it what it would run and the same document as JSON. */
export function Builder({
  start,
  original,
  begun,
  of,
  project,
  algorithms,
  workloads,
  clusters,
}: BuilderProps) {
  const { draft, typed, setTyped, replaced, ...edit } = useDraft(start, of);
  const rows = useOpened();
  const form = useRef<HTMLDivElement>(null);
  const fields = useFields(form);
  const mode = useRef<HTMLDivElement>(null);
  const yaml = useRef<YamlHandle>(null);
  const asText = route.useSearch().as === "yaml";
  const [asked, setAsked] = useState(project);
  const open = openOnes(useProjects());
  const into = (open.find(({ name }) => name === asked) ?? open[0])?.name ?? DEFAULT;
  const { query, settled } = usePlan(draft, into);
  const { post, renew } = useStart(into, edit.started);
  const continues = textAt(draft, ["tuning", "continues"]) !== "";
  const searched = useMemo(
    () => asBegun(algorithms, continues ? begun : undefined),
    [algorithms, begun, continues],
  );
  const named = useMemo(() => withNamedBaseline(draft), [draft]);
  const changes = useChanges(original, named, { algorithms, workloads, clusters });
  const own = faultsIn(draft);
  const unread = typed?.problem;
  // of a text that cannot be read nothing more is known: what the server said is of an earlier one
  const blind = asText && unread !== undefined;
  const faults = blind ? [] : own.length > 0 ? own : faultsOf(query.error ?? post.error);
  const problems = faults.length + (unread ? 1 : 0);
  const refused = post.isError && faults.length === 0; // said beside the button; the plan still stands

  function focus(pointer: string) {
    if (asText) return yaml.current?.goTo(pointer);
    const variant = variantOf(pointer);
    if (variant !== undefined) flushSync(() => rows.open(variant)); // its fields are on the page only then
    focusField(pointer, form.current);
  }

  const change = (next: (old: Json) => Json) => {
    renew();
    edit.change(next);
  };
  const fill = ({ document, label }: Example) => {
    renew();
    const names = clusters.map(({ name }) => name);
    rows.open(undefined);
    edit.fill(placed(document, names), label);
  };
  const startable = {
    problems,
    ready: settled && !query.isError && problems === 0,
    starting: post.isPending || post.isSuccess,
    start: () => post.mutate(draft),
  };
  return (
    <FormContext value={{ draft, change, faults: faultsByField(faults, fields), problems: faults, ...rows }}>
      <ToStart />
      <Group justify="space-between" align="center">
        <h1 className={styles.title}>New experiment</h1>
        <Group gap={12}>
          <Mode ref={mode} />
          <StartFrom asks={edit.asks} fill={fill} />
        </Group>
      </Group>
      <DraftNote replaced={replaced} before={renew} />
      <div className={styles.columns}>
        <div ref={form} className={styles.form} data-testid="form">
          <ProjectPicker
            projects={open}
            value={into}
            description="Its members see the experiment"
            onChange={(next) => {
              renew();
              setAsked(next);
            }}
          />
          <FullNote project={into} />
          {asText ? (
            <YamlPlace
              ref={yaml}
              algorithms={algorithms}
              workloads={workloads}
              clusters={clusters}
              cloned={original !== undefined}
              typed={typed}
              setTyped={setTyped}
              faults={faults}
              warnings={query.isError ? [] : (query.data?.warnings ?? [])}
              settled={settled}
              leave={() => mode.current?.querySelector<HTMLInputElement>("input:checked")?.focus()}
            />
          ) : (
            <>
              <WorkloadSection workloads={workloads} />
              <VariantsSection catalogue={searched} workloads={workloads} />
              <TuningSection catalogue={searched} workloads={workloads} />
              <ClustersSection clusters={clusters} />
              <BudgetSection workloads={workloads} />
              <ExecutionSection compute={algorithms.compute} />
            </>
          )}
        </div>
        <PlanSide
          query={query}
          settled={settled}
          startable={startable}
          refused={refused ? post.error : null}
          title="The experiment could not be started"
        >
          <Tabs defaultValue="plan" keepMounted={false}>
            <Tabs.List mb={14}>
              <Tabs.Tab value="plan">Plan</Tabs.Tab>
              <Tabs.Tab value="json" data-testid="json-tab">
                JSON
              </Tabs.Tab>
              {changes && <Tabs.Tab value="changes">Changes ({changes.length})</Tabs.Tab>}
            </Tabs.List>
            <Tabs.Panel value="plan">
              {!blind && (
                <PlanPanel
                  plan={query.data}
                  error={own.length > 0 ? own : (query.error ?? (refused ? null : post.error))}
                  faults={faults}
                  settled={settled}
                  focus={focus}
                  lineOf={asText ? (pointer) => yaml.current?.lineOf(pointer) : undefined}
                />
              )}
            </Tabs.Panel>
            <Tabs.Panel value="json">
              <JsonEditor typed={typed} setTyped={setTyped} />
            </Tabs.Panel>
            <Tabs.Panel value="changes">{changes && <ChangesPanel changes={changes} />}</Tabs.Panel>
          </Tabs>
          {unread && (
            <Alert
              color="red"
              mt={12}
              title={typed?.as === "json" ? "The JSON differs from the form" : "The YAML cannot be read"}
              data-testid="unread"
            >
              {unread}{" "}
              <Button size="compact-xs" variant="default" onClick={() => setTyped(undefined)}>
                Discard this text
              </Button>
            </Alert>
          )}
        </PlanSide>
      </div>
    </FormContext>
  );
}
