import type { ProjectView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";

/** Share of a quota from which on it is warned of, as the server does. */
const WARNED = 0.8;

/** Whether a project holds nearly as many points as it may, or as many. */
export function isTight({ quota, points }: ProjectView): boolean {
  return quota > 0 && (points ?? 0) >= WARNED * quota;
}

/** Whether a project holds as many points as it may, or more: then nothing more is put into it. */
export function isFull({ quota, points }: ProjectView): boolean {
  return quota > 0 && (points ?? 0) >= quota;
}

/** Rounded down, so that only what is used up has 100%. */
const percent = ({ quota, points }: ProjectView) => `${Math.floor((100 * (points ?? 0)) / quota)}%`;

/** "4,200,000 of 5,000,000 (84%)". */
export function heldWords(project: ProjectView): string {
  const { quota, points } = project;
  return quota === 0 ? "any number" : `${formatCount(points)} of ${formatCount(quota)} (${percent(project)})`;
}

/** What a project with a quota holds of it, and what follows from that. */
export function quotaSentence(project: ProjectView): string {
  const { name, quota, points } = project;
  const holds = `The project ${name} holds ${formatCount(points)} of the ${formatCount(quota)} points that it may hold (${percent(project)})`;
  return isFull(project)
    ? `${holds}: nothing more can be put into it until experiments of it are deleted and purged, or an administrator raises its quota. What has been submitted is done to its end.`
    : `${holds}. When these are used up, nothing more can be put into it.`;
}
