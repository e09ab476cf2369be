import { isJson, type Json, withValue } from "@/lib/json/document";

const GROUP = /^(?:(\d+)\s*x?\s+)?([^\s:/@+]+)(?::(\d+))?(?:\/(\d+))?(?:@(\d*\.?\d+))?(?:\+(\S+))?$/i;
/** What follows the kind of a group: ":8" threads, "/16" sub-batches, "@0.5" speed, "+bf16" precision. */
const MARKS = [
  ["threads", ":"],
  ["sub_batches", "/"],
  ["speed", "@"],
  ["precision", "+"],
] as const;

/** Groups of workers as they are typed: "2 v100, cpu-28, hogwild-cpu:8, cpu@0.5". */
export function devicesText(value: unknown): string {
  if (!Array.isArray(value)) return "";
  return value
    .filter(isJson)
    .map((group) => {
      const marks = MARKS.map(([name, mark]) => (group[name] == null ? "" : `${mark}${group[name]}`)).join(
        "",
      );
      const count = group.count ?? 1;
      return `${count === 1 ? "" : `${count} `}${group.kind}${marks}`;
    })
    .join(", ");
}

/** The groups that a text names; undefined for none. A kind that does not exist is left to the server to refuse. */
export function devicesFrom(text: string): Json[] | undefined {
  const groups = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part): Json => {
      const [, count, kind, threads, parts, speed, precision] = GROUP.exec(part) ?? [];
      if (kind === undefined) return { kind: part };
      return {
        kind,
        ...(count ? { count: Number(count) } : {}),
        ...(threads ? { threads: Number(threads) } : {}),
        ...(parts ? { sub_batches: Number(parts) } : {}),
        ...(speed ? { speed: Number(speed) } : {}),
        ...(precision ? { precision } : {}),
      };
    });
  return groups.length > 0 ? groups : undefined;
}

/** The document with these groups in a cluster, and as many workers; of a virtual cluster they are its devices. */
export function withDevices<T>(document: T, index: number, devices: Json[] | undefined, virtual = true): T {
  const place = ["clusters", index] as const;
  const changed = withValue(
    document,
    [...place, ...(virtual ? ["virtual", "devices"] : ["groups"])],
    devices,
  );
  if (!devices) return changed;
  const workers = devices.reduce((sum, { count = 1 }) => sum + Number(count), 0);
  return withValue(changed, [...place, "workers"], [workers]);
}
