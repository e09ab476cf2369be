import { Button, Group, Switch } from "@mantine/core";
import type { Axis } from "@/lib/api/types";
import { AxisPicker } from "./axis-picker";

/** One way of drawing curves, which is on or off. */
export interface Way {
  name: string;
  label: string;
  title?: string;
  on: boolean;
  /** Why it does nothing here. */
  off?: string;
  turn: (on: boolean) => void;
}

export const LOG_SCALE = {
  name: "log-scale",
  label: "Log scale",
  title: "For losses and other metrics that are not percentages",
};

export const LOG_X = {
  name: "log-x",
  label: "Log x",
  title: "The horizontal axis on a logarithmic scale, from the first point above zero on",
};

export const SMOOTH = {
  name: "smooth",
  label: "Smooth",
  title:
    "For metrics with a point every few steps: the average around each point, over a pale line of the measured values",
};

interface CurveControlsProps {
  /** Undefined: all is shown. */
  showAll: (() => void) | undefined;
  ways: readonly Way[];
  axis: Axis;
  choose: (axis: Axis | undefined) => void;
}

/** What stands beside the title of curves: the way out of a zoom, how they are drawn, and over what. */
export function CurveControls({ showAll, ways, axis, choose }: CurveControlsProps) {
  return (
    <Group gap="6px 12px" justify="flex-end" miw={0}>
      {showAll && (
        <Button size="compact-xs" variant="default" onClick={showAll}>
          Show all
        </Button>
      )}
      {ways.map(({ name, label, title, on, off, turn }) => (
        <Switch
          key={name}
          size="xs"
          label={label}
          title={off ?? title}
          disabled={off !== undefined}
          data-testid={name}
          checked={on}
          onChange={(event) => turn(event.currentTarget.checked)}
        />
      ))}
      <AxisPicker axis={axis} choose={choose} />
    </Group>
  );
}
