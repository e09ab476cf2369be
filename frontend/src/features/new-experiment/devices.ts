import { isJson, type Json, withValue } from "@/lib/json/document";

const NUMBER = String.raw`\d*\.?\d+`;
const CHANGE = new RegExp(String.raw`~(${NUMBER})(?:\+(${NUMBER}))?:(${NUMBER})`, "g");
const GROUP = new RegExp(
  String.raw`^(?:(\d+)\s*x?\s+)?([^\s:/@+~!]+)(?::(\d+))?(?:\/(\d+))?(?:@(${NUMBER}))?(?:\+([^\s~!]+))?` +
    String.raw`((?:~[^\s~!]+)*)(?:!(${NUMBER})(?:\*(${NUMBER}))?)?$`,
  "i",
);
/** What may follow the kind of a group, for those who type it. */
export const NOTATION =
  "Behind a kind, in this order: :8 threads, /16 sub-batches, @0.5 half the speed, +bf16 precision, " +
  "~30:0.5 half the speed from 30 s on, ~30+60:0.5 within 60 s from then on, " +
  "!0.02*20 one gradient in 50 takes 20 times as long";
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
      return `${count === 1 ? "" : `${count} `}${group.kind}${marks}${changesText(group)}`;
    })
    .join(", ");
}

/** How the speed of a group changes, as it is typed. */
function changesText(group: Json): string {
  const changes = Array.isArray(group.changes) ? group.changes.filter(isJson) : [];
  const told = changes.map((each) => `~${each.at}${each.over ? `+${each.over}` : ""}:${each.speed}`);
  const longer = group.straggling_factor == null ? "" : `*${group.straggling_factor}`;
  return told.join("") + (group.straggling ? `!${group.straggling}${longer}` : "");
}

/** The changes of speed that a text names; undefined if it names anything else. */
function changesFrom(text: string): Json[] | undefined {
  const found = [...text.matchAll(CHANGE)];
  if (found.map(([whole]) => whole).join("") !== text) return undefined;
  return found.map(([, at, over, speed]) => ({
    at: Number(at),
    ...(over ? { over: Number(over) } : {}),
    speed: Number(speed),
  }));
}

/** The groups that a text names; undefined for none. A kind that does not exist is left to the server to refuse. */
export function devicesFrom(text: string): Json[] | undefined {
  const groups = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part): Json => {
      const [, count, kind, threads, parts, speed, precision, told, chance, longer] = GROUP.exec(part) ?? [];
      const changes = changesFrom(told ?? "");
      if (kind === undefined || changes === undefined) return { kind: part };
      return {
        kind,
        ...(count ? { count: Number(count) } : {}),
        ...(threads ? { threads: Number(threads) } : {}),
        ...(parts ? { sub_batches: Number(parts) } : {}),
        ...(speed ? { speed: Number(speed) } : {}),
        ...(precision ? { precision } : {}),
        ...(changes.length > 0 ? { changes } : {}),
        ...(chance ? { straggling: Number(chance) } : {}),
        ...(longer ? { straggling_factor: Number(longer) } : {}),
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
