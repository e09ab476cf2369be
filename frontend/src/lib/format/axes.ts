import type { ChartAxis } from "@/lib/api/types";
import { formatBytes, formatCompact, formatCount, formatNumber } from "./numbers";
import { AXES } from "./quantities";
import { formatSeconds } from "./time";

const AXIS_LABELS: Record<ChartAxis, string> = {
  clock: "Train clock",
  wall: "Wall time",
  samples: "Samples",
  epochs: "Epochs",
  step: "Steps",
  bytes: "Bytes sent",
};

/** The axes to choose from: epochs where the number of training items is known. */
export const axesOffered = (epochs: boolean) => AXES.filter((axis) => epochs || axis !== "epochs");

export function axisLabel(axis: ChartAxis): string {
  return AXIS_LABELS[axis];
}

/** The axis with its unit; virtual seconds are always called so. */
export function axisTitle(axis: ChartAxis, simulated: boolean): string {
  if (axis === "clock" || axis === "wall") return `${AXIS_LABELS[axis]} (${simulated ? "virtual s" : "s"})`;
  return axis === "bytes" ? "Bytes sent, all ranks" : AXIS_LABELS[axis];
}

/** One value on an axis, in words. */
export function formatAxisValue(axis: ChartAxis, value: number | null): string {
  if (axis === "clock" || axis === "wall") return formatSeconds(value);
  if (axis === "bytes") return formatBytes(value);
  return axis === "epochs" ? formatNumber(value) : formatCount(value);
}

/** A tick on an axis: as short as it can be. */
export function formatAxisTick(axis: ChartAxis, value: number): string {
  if (axis === "bytes") return formatBytes(value);
  return axis === "samples" || axis === "step" ? formatCompact(value) : formatNumber(value);
}
