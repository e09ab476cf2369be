import { isJson, type Json, withValue } from "@/lib/json/document";

const GROUP = /^(?:(\d+)\s*x?\s+)?(\S+)$/i;

/** Groups of virtual devices as they are typed: "2 v100, cpu-28". */
export function devicesText(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return value
    .filter(isJson)
    .map(({ kind, count = 1 }) => (count === 1 ? String(kind) : `${count} ${kind}`))
    .join(", ");
}

/** The groups that a text names; undefined for none. A kind that does not exist is left to the server to refuse. */
export function devicesFrom(text: string): Json[] | undefined {
  const groups = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const [, count, kind] = GROUP.exec(part) ?? [];
      return kind === undefined ? { kind: part } : { kind, ...(count ? { count: Number(count) } : {}) };
    });
  return groups.length > 0 ? groups : undefined;
}

/** The document with these devices in a cluster, and as many workers. */
export function withDevices<T>(document: T, index: number, devices: Json[] | undefined): T {
  const place = ["clusters", index] as const;
  const changed = withValue(document, [...place, "virtual", "devices"], devices);
  if (!devices) return changed;
  const workers = devices.reduce((sum, { count = 1 }) => sum + Number(count), 0);
  return withValue(changed, [...place, "workers"], [workers]);
}
