/**
 * Colours of variants. Five hues that stay apart for protan, deutan and tritan eyes (checked by a test), each in
 * a light and a dark shade; after the fifth variant the line pattern changes, so that 30 variants stay distinct.
 */
export const VARIANT_LIGHT = ["#1f66d0", "#e07000", "#0f9b80", "#a3327f", "#2b3038"] as const;
export const VARIANT_DARK = ["#4d96ff", "#f2994a", "#35d0ac", "#c966bd", "#e6e8ea"] as const;

/** Canvas and SVG dash patterns; the first is solid. */
export const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3], [14, 4], [4, 2]];

export interface VariantStyle {
  /** CSS colour that follows the colour scheme. */
  readonly color: string;
  readonly light: string;
  readonly dark: string;
  readonly dash: readonly number[];
}

/** What has variants: an experiment. */
export interface Colored {
  readonly variants: readonly string[];
  /** As the server says; of one of before, the variants have their positions. */
  readonly colors?: readonly number[];
}

/** The place of a variant in the palette, in every view: that of its name in all experiments, as far as they differ in one. */
export function colorOf({ variants, colors }: Colored, name: string): number {
  const at = Math.max(0, variants.indexOf(name));
  return colors?.[at] ?? at;
}

/** Style of the variant at this place in the palette. */
export function variantStyle(index: number): VariantStyle {
  const position = Math.max(0, index);
  const hue = position % VARIANT_LIGHT.length;
  const light = VARIANT_LIGHT[hue] ?? VARIANT_LIGHT[0];
  const dark = VARIANT_DARK[hue] ?? VARIANT_DARK[0];
  const dash = DASHES[Math.floor(position / VARIANT_LIGHT.length) % DASHES.length] ?? [];
  return { color: `light-dark(${light}, ${dark})`, light, dark, dash };
}

/** Patterns of the parts of one variant. */
export const PARTS: typeof DASHES = [...DASHES, [1, 3], [12, 3, 2, 3, 2, 3]];

/** Style of a rank, a worker or another part of one variant: the colour of the variant, with a pattern. */
export function partStyle(index: number, part: number): VariantStyle {
  return { ...variantStyle(index), dash: PARTS[Math.max(0, part) % PARTS.length] ?? [] };
}

/** Phases in the order in which every bar stacks them. */
export const PHASES = ["data", "compute", "rebuild", "communicate", "update", "evaluate", "idle"] as const;
export type Phase = (typeof PHASES)[number];

/** Those that are shown of some sums of seconds or shares: `rebuild`, which few runs have, only if one of these has it. */
export function phasesIn(all: readonly Partial<Record<string, number>>[]): readonly Phase[] {
  return PHASES.filter((phase) => phase !== "rebuild" || all.some((each) => (each[phase] ?? 0) > 0));
}
