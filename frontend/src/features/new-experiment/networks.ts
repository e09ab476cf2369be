import type { ClusterView } from "@/lib/client/types.gen";
import { PRESETS } from "@/lib/format/networks";
import { formatBytes } from "@/lib/format/numbers";
import { formatSeconds } from "@/lib/format/time";
import { isJson, type Json, valueAt, withValue } from "@/lib/json/document";

/** A network that is given by its numbers. */
export const CUSTOM = "custom";
const LIKE = "like ";
/** What a document means that does not say: those of 10 GbE. */
const [{ latency: LATENCY, seconds_per_byte: PER_BYTE }] = PRESETS;

const numberAt = (virtual: unknown, name: string, otherwise: number): unknown => {
  const value = valueAt(virtual, [name]);
  return value === undefined ? otherwise : value;
};

/** Whether a network is that of a calibrated cluster, which has no numbers of its own. */
export const isLike = (network: string): boolean => network.startsWith(LIKE);

/** The key of a known network, "like" and the name of a cluster, or CUSTOM. */
export function networkOf(virtual: unknown): string {
  const like = valueAt(virtual, ["like"]);
  if (like !== undefined) return LIKE + String(like);
  const [latency, perByte] = [
    numberAt(virtual, "latency", LATENCY),
    numberAt(virtual, "seconds_per_byte", PER_BYTE),
  ];
  return PRESETS.find((one) => one.latency === latency && one.seconds_per_byte === perByte)?.key ?? CUSTOM;
}

/** What a network is in numbers: "7.2 µs per message, 1.11 GB/s". */
export function networkWords(virtual: unknown): string {
  if (valueAt(virtual, ["like"]) !== undefined) return "All constants from its latest calibration";
  const [latency, perByte] = [
    numberAt(virtual, "latency", LATENCY),
    numberAt(virtual, "seconds_per_byte", PER_BYTE),
  ];
  if (typeof latency !== "number" || typeof perByte !== "number") return "Latency and bandwidth";
  const bandwidth = perByte > 0 ? `${formatBytes(1 / perByte)}/s` : "no limit of bytes";
  return `${formatSeconds(latency)} per message, ${bandwidth}`;
}

/** Known networks, those of calibrated clusters, and numbers of one's own; the present one is among them. */
export function networkChoices(
  clusters: readonly ClusterView[],
  present: string,
): { value: string; label: string }[] {
  const names = clusters.map(({ name }) => LIKE + name);
  const own = present.startsWith(LIKE) && !names.includes(present) ? [present] : [];
  return [
    ...PRESETS.map(({ key, label }) => ({ value: key, label })),
    ...[...names, ...own].map((value) => ({ value, label: `${capital(value)}, as calibrated` })),
    { value: CUSTOM, label: "Custom" },
  ];
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** With another network: a calibrated cluster has all constants, so that those of before go. */
export function withNetwork(draft: Json, index: number, network: string): Json {
  const path = ["clusters", index, "virtual"] as const;
  if (network.startsWith(LIKE)) return withValue(draft, path, { like: network.slice(LIKE.length) });
  const before = valueAt(draft, path);
  const { like, ...kept } = isJson(before) ? before : {};
  const preset = PRESETS.find(({ key }) => key === network);
  const numbers = preset ? { latency: preset.latency, seconds_per_byte: preset.seconds_per_byte } : {};
  return withValue(draft, path, { ...kept, ...numbers });
}
