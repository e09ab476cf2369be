import type { ProjectView } from "@/lib/client/types.gen";
import { formatBytes, formatCount } from "@/lib/format/numbers";

/** Share of a quota from which on it is warned of, as the server does. */
const WARNED = 0.8;

/** What a project holds of a quota that it has: of points or of bytes. */
interface Held {
  held: number;
  quota: number;
  /** "4,200,000 of 5,000,000 points (84%)". */
  words: string;
  /** "4,200,000 of the 5,000,000 points that it may hold (84%)". */
  sentence: string;
}

/** Rounded down, so that only what is used up has 100%. */
const percent = (held: number, quota: number) => `${Math.floor((100 * held) / quota)}%`;

function heldOf({ quota, points, quota_bytes, bytes }: ProjectView): Held[] {
  const all = [
    { held: points ?? 0, quota, format: formatCount, unit: " points" },
    { held: bytes ?? 0, quota: quota_bytes, format: formatBytes, unit: "" },
  ];
  return all
    .filter((one) => one.quota > 0)
    .map(({ held, quota, format, unit }) => ({
      held,
      quota,
      words: `${format(held)} of ${format(quota)}${unit} (${percent(held, quota)})`,
      sentence: `${format(held)} of the ${format(quota)}${unit} that it may hold (${percent(held, quota)})`,
    }));
}

/** Whether a project holds nearly as much as it may, or as much. */
export function isTight(project: ProjectView): boolean {
  return heldOf(project).some(({ held, quota }) => held >= WARNED * quota);
}

/** Whether a project holds as much as it may, or more: then nothing more is put into it. */
export function isFull(project: ProjectView): boolean {
  return heldOf(project).some(({ held, quota }) => held >= quota);
}

/** "4,200,000 of 5,000,000 points (84%); 3 GB of 5 GB (60%)". */
export function heldWords(project: ProjectView): string {
  return (
    heldOf(project)
      .map(({ words }) => words)
      .join("; ") || "no quota"
  );
}

/** What a project with a quota holds of it, and what follows from that. */
export function quotaSentence(project: ProjectView): string {
  const held = heldOf(project)
    .filter(({ held, quota }) => held >= WARNED * quota)
    .map(({ sentence }) => sentence);
  const holds = `The project ${project.name} holds ${held.join(", and ")}`;
  return isFull(project)
    ? `${holds}: nothing more can be put into it until some of its experiments are deleted and purged, or an administrator raises its quota. Submitted experiments run to their end.`
    : `${holds}. When these are used up, nothing more can be put into it.`;
}
