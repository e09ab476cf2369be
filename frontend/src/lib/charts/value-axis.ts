import { linearTicks, logTicks } from "./space-scale";

/** A figure, and how far it spreads. */
export interface Spreading {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface ValueAxis {
  /** The share of its length at which a value lies; what is beyond lies at its end. */
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
  readonly log: boolean;
}

/** The greatest value over the least one from which on an axis is logarithmic. */
const LOG = 20;
const ROOM = 0.1;
/** How far a spread may stretch the axis beyond the values, as a share of their range: two seeds make huge ones. */
const STRETCH = 0.5;

/**
 * The axis of some figures: all of them, their spreads as far as there is room, and round ticks. `limit`: the greatest
 * value that there can be.
 */
export function valueAxis(figures: readonly Spreading[], limit = Number.POSITIVE_INFINITY): ValueAxis {
  const values = figures.map(({ value }) => value);
  const least = Math.min(...values);
  const most = Math.max(...values);
  const log = least > 0 && most / least >= LOG;
  const bend = log ? Math.log10 : (value: number) => value;
  const [from, end] = values.length > 0 ? reach(figures, log) : [0, 1];
  const to = Math.min(end, bend(limit));
  const ticks = log ? logTicks(10 ** from, 10 ** to) : linearTicks(from, to);
  return {
    place: (value) => Math.min(1, Math.max(0, (bend(value) - from) / (to - from))),
    ticks: ticks.filter((tick) => bend(tick) >= from && bend(tick) <= to),
    log,
  };
}

function reach(figures: readonly Spreading[], log: boolean): [number, number] {
  const bend = (value: number) => (log ? Math.log10(value) : value);
  const values = figures.map(({ value }) => bend(value));
  const least = Math.min(...values);
  const most = Math.max(...values);
  const range = most - least;
  const stretch = range > 0 ? STRETCH * range : Number.POSITIVE_INFINITY;
  const ends = figures
    .flatMap(({ low, high }) => [low, high])
    .filter((end) => end !== null && !(log && end <= 0))
    .map((end) => Math.min(most + stretch, Math.max(least - stretch, bend(end ?? 0))));
  const [low, high] = [Math.min(least, ...ends), Math.max(most, ...ends)];
  const room = (high - low || Math.abs(high) || 1) * ROOM;
  return [!log && low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
