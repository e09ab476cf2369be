/** Search spaces and the values of parameters in words. */
import type { Space } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";

export type Scalar = NonNullable<Space["choices"]>[number];
export type Scale = NonNullable<Space["scale"]>;
export type Edge = "low" | "high";

/** Scales as a list to choose from names them. */
export const SCALES: readonly { value: Scale; label: string }[] = [
  { value: "linear", label: "linear" },
  { value: "log", label: "log" },
  { value: "reverse-log", label: "log of 1 − x" },
];

/** The value of a parameter: four digits, as settings have; what is absent is empty. */
export function formatValue(value: unknown): string {
  if (typeof value === "number") return formatNumber(value, 4);
  if (value === null || value === undefined) return "empty";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** "0.003 to 0.3, log", "1 to 64, whole, log" or "heavy-ball, nesterov". */
export function formatSpace(space: Space): string {
  if (space.choices) return space.choices.map(formatValue).join(", ");
  const scale = SCALES.find(({ value }) => value === space.scale && value !== "linear");
  const ends = `${formatNumber(space.low, 4)} to ${formatNumber(space.high, 4)}`;
  return [ends, space.integer ? "whole" : "", scale?.label ?? ""].filter(Boolean).join(", ");
}

/** "inner is sgd and momentum is not 0", or nothing where a space holds always. */
export function formatCondition(space: Space): string {
  const said = (some: Space["when"], is: string) =>
    Object.entries(some ?? {}).map(
      ([name, values]) => `${name} ${is} ${values.map(formatValue).join(" or ")}`,
    );
  return [...said(space.when, "is"), ...said(space.unless, "is not")].join(" and ");
}

/** "lr = 0.29 lies at the upper edge of its space (0.003 to 0.3, log)". */
export function edgeWords(name: string, value: unknown, edge: Edge, space: Space | undefined): string {
  const where = edge === "low" ? "lower" : "upper";
  const among = space ? ` (${formatSpace(space)})` : "";
  return `${name} = ${formatValue(value)} lies at the ${where} edge of its space${among}`;
}
