import { MultiSelect } from "@mantine/core";
import type { FurtherMetricView } from "@/lib/client/types.gen";

interface FurtherPickerProps {
  declared: readonly FurtherMetricView[];
  chosen: readonly string[];
  choose: (names: readonly string[]) => void;
}

/** Which of the metrics that the workload reports beside accuracy and loss have charts; nothing if it has none. */
export function FurtherPicker({ declared, chosen, choose }: FurtherPickerProps) {
  if (declared.length === 0) return null;
  const about = new Map(declared.map(({ name, description }) => [name, description]));
  return (
    <MultiSelect
      size="xs"
      aria-label="Further metrics"
      data-testid="further-metrics"
      placeholder={chosen.length === 0 ? "Further metrics" : ""}
      searchable
      data={declared.map(({ name, title }) => ({ value: name, label: title }))}
      value={[...chosen]}
      onChange={choose}
      renderOption={({ option }) => <span title={about.get(option.value)}>{option.label}</span>}
      comboboxProps={{ shadow: "md" }}
      miw={220}
    />
  );
}
