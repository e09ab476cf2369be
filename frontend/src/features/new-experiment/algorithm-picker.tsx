import {
  type ComboboxItem,
  type ComboboxParsedItem,
  type OptionsFilter,
  Select,
  type SelectProps,
  Text,
} from "@mantine/core";
import { useState } from "react";
import type { AlgorithmView } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";
import type { Path } from "@/lib/json/document";
import { useField } from "./form-context";

const OWN = "Your own";

/** Where a method stands in the list: users' own ones first, then under the heading that the method declares. */
export function groupOf(algorithm: AlgorithmView): string {
  return algorithm.origin === "built-in" ? algorithm.family : OWN;
}

/** What a worker asks to move per local step with the method's defaults, in vectors of all weights |W|. */
export function payloadOf(algorithm: AlgorithmView): string {
  const { payload_per_step: payload } = algorithm;
  return payload === null ? "payload not declared" : `${formatNumber(payload)} |W| per step`;
}

function options(algorithms: readonly AlgorithmView[]) {
  const groups = [...new Set(algorithms.map(groupOf))].sort(
    (a, b) => Number(b === OWN) - Number(a === OWN) || a.localeCompare(b),
  );
  return groups.map((group) => ({
    group,
    items: algorithms
      .filter((one) => groupOf(one) === group)
      .map((one) => ({ value: one.name, label: one.title })),
  }));
}

/** Methods are found by their titles, and by the names that documents use. */
const filter: OptionsFilter = ({ options: offered, search }) => {
  const sought = search.trim().toLowerCase();
  const fits = ({ label, value }: ComboboxItem) =>
    label.toLowerCase().includes(sought) || value.includes(sought);
  return offered.flatMap((one): ComboboxParsedItem[] => {
    if (!("items" in one)) return fits(one) ? [one] : [];
    const items = one.items.filter(fits);
    return items.length > 0 ? [{ ...one, items }] : [];
  });
};

const SHARED = {
  filter,
  searchable: true,
  nothingFoundMessage: "No algorithm has this name",
  maxDropdownHeight: 380,
};

/** An option of the list: the method's title, and what it moves. */
function optionOf(algorithms: readonly AlgorithmView[]): SelectProps["renderOption"] {
  return ({ option }) => {
    const algorithm = algorithms.find((one) => one.name === option.value);
    return (
      <div>
        {option.label}
        {algorithm && (
          <Text component="div" size="xs" c="dimmed">
            {payloadOf(algorithm)}
          </Text>
        )}
      </div>
    );
  };
}

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
      renderOption={optionOf(algorithms)}
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
  const [sought, setSought] = useState("");
  return (
    <Select
      {...SHARED}
      renderOption={optionOf(algorithms)}
      size="xs"
      w={200}
      aria-label="Add variant"
      placeholder="Add variant"
      data-testid="add-variant"
      comboboxProps={{ width: 320, position: "bottom-end" }}
      data={options(algorithms)}
      value={null}
      searchValue={sought}
      onSearchChange={setSought}
      onChange={(name) => {
        const chosen = algorithms.find((one) => one.name === name);
        if (chosen) add(chosen);
        setSought(""); // the focus stays: often more are added
      }}
    />
  );
}
