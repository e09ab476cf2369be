import { Button, Group, Switch } from "@mantine/core";
import type { ReactNode } from "react";
import type { ChartAxis } from "@/lib/api/types";
import { MOST_SMOOTH } from "@/lib/charts/smoothing";
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

/** How strongly curves are smoothed. */
interface Smoothing {
  /** In percent of the points of a curve; undefined: not at all. */
  strength: number | undefined;
  set: (strength: number | undefined) => void;
}

interface CurveControlsProps {
  /** The way out of a zoom, where there is one. */
  showAll: ReactNode;
  ways: readonly Way[];
  smoothing: Smoothing;
  axis: ChartAxis;
  /** Whether curves can run over epochs. */
  epochs: boolean;
  choose: (axis: ChartAxis | undefined) => void;
}

/** The way out of a zoom. */
export function ShowAllButton({ show }: { show: () => void }) {
  return (
    <Button size="compact-xs" variant="default" onClick={show}>
      Show all
    </Button>
  );
}

/** The words of a switch are nearer to it than to the next one. */
const NEAR = { label: { paddingInlineStart: 7 } };

/** What stands beside the title of curves: the way out of a zoom, how they are drawn, and over what. */
export function CurveControls({ showAll, ways, smoothing, axis, epochs, choose }: CurveControlsProps) {
  return (
    <Group gap="6px 18px" justify="flex-end" miw={0}>
      {showAll}
      {ways.map(({ name, label, title, on, off, turn }) => (
        <Switch
          key={name}
          size="xs"
          styles={NEAR}
          label={label}
          title={off ?? title}
          disabled={off !== undefined}
          data-testid={name}
          checked={on}
          onChange={(event) => turn(event.currentTarget.checked)}
        />
      ))}
      <SmoothSlider {...smoothing} />
      <AxisPicker axis={axis} epochs={epochs} choose={choose} />
    </Group>
  );
}

/** From the measured values, at the left, to means over half of the points of a curve. */
function SmoothSlider({ strength = 0, set }: Smoothing) {
  const words = strength === 0 ? "off" : `means over ${strength}% of the points`;
  return (
    <Group
      component="label"
      gap={8}
      fz={12}
      title={`The mean around each point, over a pale line of the measured values: ${words}`}
    >
      Smooth
      <input
        type="range"
        min={0}
        max={MOST_SMOOTH}
        value={strength}
        aria-valuetext={words}
        style={{ width: 84, height: 24, accentColor: "var(--hk-accent)" }}
        data-testid="smooth"
        onChange={(event) => set(Number(event.currentTarget.value) || undefined)}
      />
    </Group>
  );
}
