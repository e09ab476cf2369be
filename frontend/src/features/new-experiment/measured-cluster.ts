import { isJson, type Json, objectsAt, textAt } from "@/lib/json/document";
import { freeName } from "./draft";
import { isLike, withNetwork } from "./networks";

/** Constants of a calibration that are in the measured speeds (`hooke.comparison.measured_speeds`, CONTAINED). */
const CONTAINED = {
  compute_seconds_per_step: 0,
  compute_seconds_after_exchange: 0,
  jitter_between_ranks: 0,
};

/** With a virtual cluster whose workers have the measured speeds of a run, and a network. */
export function withMeasuredCluster(draft: Json, measured: Json, network: string): Json {
  const before = objectsAt(draft, ["clusters"]);
  const groups = objectsAt(measured, ["workers"]);
  const virtual = isJson(measured.virtual) ? measured.virtual : {};
  const cluster = {
    ...measured,
    name: freeName(
      textAt(measured, ["name"]),
      before.map((one) => textAt(one, ["name"])),
      "-",
    ),
    workers: [groups.length],
    seeds: 5,
  };
  const named = withNetwork({ ...draft, clusters: [...before, cluster] }, before.length, network);
  const constants = objectsAt(named, ["clusters"])[before.length]?.virtual;
  const all = {
    ...(isJson(constants) ? constants : {}),
    ...(isLike(network) ? CONTAINED : {}),
    ...virtual,
    devices: groups,
  };
  return { ...draft, clusters: [...before, { ...cluster, virtual: all }] };
}
