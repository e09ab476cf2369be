import { Button, NativeSelect } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { AlgorithmView, Space, WorkloadView } from "@/lib/client/types.gen";
import { textAt, valueAt, withValue } from "@/lib/json/document";
import { formatCondition, formatValue } from "@/lib/spaces/words";
import ui from "@/lib/ui/ui.module.css";
import formStyles from "./form.module.css";
import { useField, useForm } from "./form-context";
import styles from "./search-spaces.module.css";
import {
  choicesText,
  compact,
  firstSpace,
  type SearchedParameter,
  searchable,
  searchedParameters,
  withSpace,
} from "./searched";
import { givenAt, settingName, withSettings } from "./searched-workload";
import { ChoiceCells, IntervalCells } from "./space-cells";
import { withSweep } from "./sweeps";

/** What tuning searches of a variant, and in which spaces; every one can be changed, dropped and restored. */
export function SearchSpaces({
  index,
  algorithm,
  workloads,
}: {
  index: number;
  algorithm: AlgorithmView;
  workloads: readonly WorkloadView[];
}) {
  const { draft, change } = useForm();
  const variant = valueAt(draft, ["variants", index]);
  const workload = workloads.find((one) => one.name === textAt(draft, ["workload", "name"]));
  const offered = withSettings(
    algorithm,
    workload?.parameters,
    valueAt(draft, ["workload", "parameters"]),
    valueAt(variant, ["workload_settings"]),
  );
  const { control, error } = useField(["variants", index, "search"]);
  const parameters = searchedParameters(variant, offered);
  const others = searchable(variant, offered);
  const searched = parameters.filter(({ state }) => state === "searched" || state === "own");
  return (
    <details className={formStyles.details} open data-testid="search-spaces">
      <summary>
        {searched.length === 0
          ? "Nothing to tune here: every trial would use the setting above"
          : `Tuning searches ${searched.length} ${searched.length === 1 ? "parameter" : "parameters"}`}
      </summary>
      <div {...control} tabIndex={-1}>
        {error && <p className={formStyles.error}>{error}</p>}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <section className={ui.tableWrap} aria-label={`Search spaces of variant ${index + 1}`} tabIndex={0}>
          <table className={styles.spaces}>
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col">Low</th>
                <th scope="col">High</th>
                <th scope="col">Scale</th>
                <th scope="col">
                  <span className={ui.unseen}>Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {parameters.map((parameter) => (
                <SpaceRow key={parameter.name} index={index} parameter={parameter} />
              ))}
            </tbody>
          </table>
        </section>
        {others.length > 0 && (
          <NativeSelect
            size="xs"
            mt={8}
            w={220}
            aria-label="Search another parameter"
            data={[
              { value: "", label: "Search another parameter" },
              ...others.map(({ name, title }) => ({
                value: name,
                label: settingName(name) === undefined ? title : `${title} (workload)`,
              })),
            ]}
            value=""
            onChange={(event) => {
              const field = others.find((one) => one.name === event.currentTarget.value);
              if (!field) return;
              change((old) => {
                const next = withValue(old, givenAt(index, field.name), undefined);
                return withSpace(next, index, field.name, firstSpace(field));
              });
            }}
          />
        )}
      </div>
    </details>
  );
}

function SpaceRow({ index, parameter }: { index: number; parameter: SearchedParameter }) {
  const { name, title, state, space } = parameter;
  const { control, error } = useField(["variants", index, "search", name]);
  const [resets, setResets] = useState(0); // fields then forget what was typed in them
  const live = state === "searched" || state === "own";
  return (
    <tr {...control} tabIndex={-1} data-testid="space-row" data-state={state}>
      <th scope="row">
        {title} {title !== name && <code>{name}</code>}
        {live && space && <span className={ui.range}>{told(space)}</span>}
        {error && <span className={styles.error}>{error}</span>}
      </th>
      {live && space ? (
        <Cells key={resets} index={index} parameter={parameter} space={space} />
      ) : (
        <td colSpan={3} className={styles.still}>
          {state === "given"
            ? `${given(parameter.value)} above: not searched`
            : `keeps its default, ${formatValue(parameter.value)}`}
        </td>
      )}
      <td className={styles.actions}>
        <Actions index={index} parameter={parameter} acted={() => setResets(resets + 1)} />
      </td>
    </tr>
  );
}

function given(value: unknown): string {
  return Array.isArray(value) ? `is swept over ${choicesText(value)}` : `has the value ${formatValue(value)}`;
}

function told(space: Space): string {
  const condition = formatCondition(space);
  return [space.integer ? "whole numbers" : "", condition && `only where ${condition}`]
    .filter(Boolean)
    .join(", ");
}

function Cells({ index, parameter, space }: { index: number; parameter: SearchedParameter; space: Space }) {
  const { change } = useForm();
  const shared = {
    path: ["variants", index, "search", parameter.name],
    title: parameter.title,
    space,
    /** The first change copies the space that the algorithm declares. */
    write: (changes: Partial<Space>) =>
      change((old) => withSpace(old, index, parameter.name, { ...compact(space), ...changes })),
  };
  return Array.isArray(space.choices) ? <ChoiceCells {...shared} /> : <IntervalCells {...shared} />;
}

function Actions({
  index,
  parameter,
  acted,
}: {
  index: number;
  parameter: SearchedParameter;
  acted: () => void;
}) {
  const { change } = useForm();
  const { name, title, state, declared, mentioned } = parameter;
  const set = (space: null | undefined) => () => {
    acted();
    change((old) => withSpace(old, index, name, space));
  };
  const button = (words: string, act: () => void): ReactNode => (
    <Button size="compact-xs" variant="subtle" color="gray" aria-label={`${words}: ${title}`} onClick={act}>
      {words}
    </Button>
  );
  if (state === "given") {
    return (
      <>
        {mentioned && button("Keep the value", set(undefined))}
        {button("Search", () =>
          change((old) => withValue(withSweep(old, index, name, undefined), givenAt(index, name), undefined)),
        )}
      </>
    );
  }
  if (state === "default") return button("Search", set(undefined));
  return (
    <>
      {state === "own" && declared && button("Reset", set(undefined))}
      {button("Keep default", set(declared ? null : undefined))}
    </>
  );
}
