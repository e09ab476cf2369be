import { Select } from "@mantine/core";
import { useState } from "react";
import type { AlgorithmView } from "@/lib/client/types.gen";
import type { Path } from "./document";
import { useField } from "./form-context";

const LOCAL = ["local-sgd", "post-local-sgd", "slowmo", "diloco"];
const GROUPS = ["Your own", "Elastic averaging", "Stochastic gradient descent", "Local steps"] as const;

/** Where a method stands in the list: by what its workers exchange. */
export function groupOf(algorithm: AlgorithmView): (typeof GROUPS)[number] {
  if (algorithm.origin !== "built-in") return "Your own";
  if (LOCAL.includes(algorithm.name)) return "Local steps";
  return /easgd|eamsgd|^sma$/.test(algorithm.name) ? "Elastic averaging" : "Stochastic gradient descent";
}

function options(algorithms: readonly AlgorithmView[]) {
  return GROUPS.map((group) => ({
    group,
    items: algorithms
      .filter((one) => groupOf(one) === group)
      .map((one) => ({ value: one.name, label: one.title })),
  })).filter(({ items }) => items.length > 0);
}

const SHARED = { searchable: true, nothingFoundMessage: "No method has such a name", maxDropdownHeight: 380 };

/** The method of one variant; a name that nobody offers any more stays to be seen. */
export function AlgorithmField({
  path,
  algorithms,
  onChoice,
}: {
  path: Path;
  algorithms: readonly AlgorithmView[];
  onChoice: (name: string) => void;
}) {
  const { value, error, control } = useField(path);
  const current = typeof value === "string" ? value : "";
  const known = algorithms.some((one) => one.name === current);
  const data = options(algorithms);
  return (
    <Select
      {...control}
      {...SHARED}
      label="Algorithm"
      error={error}
      allowDeselect={false}
      data={
        known || !current
          ? data
          : [{ group: "Unknown", items: [{ value: current, label: current }] }, ...data]
      }
      value={current || null}
      onChange={(name) => name && onChoice(name)}
    />
  );
}

/** A list to search; what is chosen becomes a variant. */
export function AddVariant({
  algorithms,
  add,
}: {
  algorithms: readonly AlgorithmView[];
  add: (algorithm: AlgorithmView) => void;
}) {
  const [added, setAdded] = useState(0);
  return (
    <Select
      {...SHARED}
      key={added}
      size="xs"
      w={200}
      aria-label="Add variant"
      placeholder="Add variant"
      data-testid="add-variant"
      comboboxProps={{ width: 320, position: "bottom-end" }}
      data={options(algorithms)}
      value={null}
      onChange={(name) => {
        const chosen = algorithms.find((one) => one.name === name);
        if (chosen) add(chosen);
        setAdded(added + 1);
      }}
    />
  );
}
