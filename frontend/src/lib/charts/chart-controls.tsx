import { CloseButton, Group, NativeSelect, Select } from "@mantine/core";
import type { ChartAxis } from "@/lib/api/types";
import { axesOffered, axisLabel } from "@/lib/format/axes";
import { AXES } from "@/lib/format/quantities";
import type { AddedChart, AddedProps, choicesOf } from "./added-charts";

type Choices = ReturnType<typeof choicesOf>;

/** Adds a chart of a metric, over the axis of the page at first. */
export function AddChart({ choices, add }: { choices: Choices; add: (metric: string) => void }) {
  return (
    <Select
      size="xs"
      w={190}
      aria-label="Add a chart"
      data-testid="add-chart"
      placeholder="Add a chart"
      searchable
      data={choices}
      value={null}
      onChange={(metric) => metric && add(metric)}
      comboboxProps={{ shadow: "md", withinPortal: true }}
    />
  );
}

/**
 * What a chart shows that was added, with what chooses that in place of a title. Over an axis of its own it has a zoom of its
 * own, too. `epochs`: whether it can run over them.
 */
export function asChart(added: AddedProps, epochs: boolean) {
  const { chart, choices, declared, axis, change, zoom, onZoom } = added;
  return {
    metric: chart.metric,
    declared: declared.find(({ name }) => name === chart.metric),
    head: <ChartHead chart={chart} choices={choices} axis={axis} epochs={epochs} change={change} />,
    ...(chart.axis === undefined || chart.axis === axis ? { zoom, onZoom } : {}),
  };
}

interface ChartHeadProps {
  chart: AddedChart;
  choices: Choices;
  /** Of the page. */
  axis: ChartAxis;
  /** Whether it can run over epochs. */
  epochs: boolean;
  change: (chart: AddedChart | undefined) => void;
}

/** What an added chart shows over what, each to be chosen, and a button that takes it away. */
function ChartHead({ chart, choices, axis, epochs, change }: ChartHeadProps) {
  const known = choices.some(({ items }) => items.some(({ value }) => value === chart.metric));
  return (
    <Group gap="4px 8px" fz={13}>
      <NativeSelect
        size="xs"
        aria-label="Metric"
        data={known ? choices : [{ value: chart.metric, label: chart.metric }, ...choices]}
        value={chart.metric}
        onChange={(event) => change({ ...chart, metric: event.currentTarget.value })}
      />
      against
      <NativeSelect
        size="xs"
        aria-label="Axis of this chart"
        data={[
          { value: "", label: `${axisLabel(axis)}, as above` },
          ...axesOffered(epochs || chart.axis === "epochs").map((value) => ({
            value,
            label: axisLabel(value),
          })),
        ]}
        value={chart.axis ?? ""}
        onChange={(event) => {
          const chosen = event.currentTarget.value;
          change({ ...chart, axis: AXES.find((known) => known === chosen) });
        }}
      />
      <CloseButton size={24} aria-label="Remove this chart" onClick={() => change(undefined)} />
    </Group>
  );
}
