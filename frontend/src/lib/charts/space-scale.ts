/** Where the values of a parameter stand on an axis over its search space, and the marks of that axis. */
import type { Space } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";
import { formatValue, type Scalar } from "@/lib/spaces/words";
import { tickTexts } from "./tick-texts";

/** A place on an axis, a share of its length, and what is written there. */
export interface Mark {
  readonly at: number;
  readonly label: string;
}

export interface SpaceScale {
  /** The share in [0, 1] at which a value lies; null if it is none of the space's values. */
  readonly place: (value: unknown) => number | null;
  readonly marks: readonly Mark[];
}

const REVERSE = [0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999];
/** Labels that an axis of a chart can hold. */
const MOST = 7;

/** The scale of a space: choices stand in the middle of equal parts. */
export function spaceScale(space: Space): SpaceScale {
  const { choices, low, high } = space;
  if (choices) {
    const middle = (index: number) => (index + 0.5) / choices.length;
    return {
      place: (value) => {
        const index = choices.indexOf(value as Scalar);
        return index < 0 ? null : middle(index);
      },
      marks: choices.map((choice, index) => ({ at: middle(index), label: formatValue(choice) })),
    };
  }
  const from = low ?? 0;
  const to = high ?? 1;
  const bend = bends[space.scale ?? "linear"];
  const share = (value: number) => (bend(value) - bend(from)) / (bend(to) - bend(from));
  const inside = (value: number) => value >= from && value <= to;
  return {
    place: (value) => (typeof value === "number" && inside(value) ? share(value) : null),
    marks: marksOf(ticksOf(space.scale ?? "linear", from, to).filter(inside), share, formatNumber),
  };
}

/** Ticks as marks of an axis. */
export function marksOf(
  ticks: readonly number[],
  place: (value: number) => number,
  format: (value: number) => string,
): Mark[] {
  const texts = tickTexts(ticks, (value) => format(value));
  return ticks.map((value, i) => ({ at: place(value), label: texts[i] ?? "" }));
}

const bends: Record<NonNullable<Space["scale"]>, (value: number) => number> = {
  linear: (value) => value,
  log: Math.log,
  "reverse-log": (value) => -Math.log(1 - value),
};

function ticksOf(scale: NonNullable<Space["scale"]>, low: number, high: number): readonly number[] {
  if (scale === "reverse-log")
    return REVERSE.some((value) => value > low && value < high) ? REVERSE : [low, high];
  return scale === "log" ? logTicks(low, high) : linearTicks(low, high);
}

/** Powers of ten, with twos and fives between them where there is room. */
export function logTicks(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high)) - first + 1 },
    (_, i) => 10 ** (first + i),
  );
  const all = decades.flatMap((ten) => [1, 2, 5].map((digit) => Number((digit * ten).toPrecision(3))));
  const dense = all.filter((value) => value >= low && value <= high);
  if (dense.length < 2) return [low, high];
  return dense.length <= MOST ? dense : decades;
}

/** Round numbers from `low` to `high`, about `count` of them. */
export function linearTicks(low: number, high: number, count = 5): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / count;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((digit) => digit * ten >= rough) ?? 10) * ten;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
