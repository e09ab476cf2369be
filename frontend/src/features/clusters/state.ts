import type { ClusterView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";

/** The state of a cluster: its tone among those of the badges, and in words. */
export function clusterState(
  cluster: ClusterView,
  now: number,
): { tone: "good" | "warn" | "off" | "live"; words: string } {
  if (!cluster.online)
    return { tone: "off", words: `offline, last heard ${formatAge(cluster.seen_at, now)}` };
  if (cluster.held_until && Date.parse(cluster.held_until) > now) {
    const until = `paused until ${formatMoment(cluster.held_until)}`;
    return { tone: "warn", words: `${until}: a launch failed ${cluster.held_why ?? ""}`.trim() };
  }
  if (cluster.draining)
    return { tone: "warn", words: cluster.busy > 0 ? "draining: its runs continue" : "drained" };
  if (cluster.busy > 0) return { tone: "live", words: `${cluster.busy} of ${cluster.slots} slots busy` };
  return { tone: "good", words: `online, ${cluster.slots} ${cluster.slots === 1 ? "slot" : "slots"} free` };
}
