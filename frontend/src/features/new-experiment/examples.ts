import comparison from "@examples/comparison.yaml";
import periods from "@examples/local-sgd-periods.yaml";
import layers from "@examples/output-layers.yaml";
import tuned from "@examples/tuned.yaml";
import unequal from "@examples/unequal-workers.yaml";
import { type Json, objectsAt } from "@/lib/json/document";

/** An experiment to start from: the very file that the command line runs, read when the dashboard is built. */
export interface Example {
  /** Name of the file. */
  readonly key: string;
  readonly label: string;
  readonly about: string;
  readonly document: Json;
}

export const FIRST: Example = {
  key: "comparison",
  label: "The paper's comparison",
  about: "Five algorithms on digits: measured here, and simulated for 10 Gb/s Ethernet",
  document: comparison,
};

export const EXAMPLES: readonly Example[] = [
  FIRST,
  {
    key: "tuned",
    label: "Tuned comparison",
    about: "Five algorithms, each with the best of 12 settings; simulated",
    document: tuned,
  },
  {
    key: "local-sgd-periods",
    label: "Periods of Local SGD",
    about: "A sweep: one algorithm with six values of a parameter; simulated",
    document: periods,
  },
  {
    key: "unequal-workers",
    label: "Unequal workers",
    about: "Six algorithms; half of the workers are three times as fast; simulated",
    document: unequal,
  },
  {
    key: "output-layers",
    label: "Output layers (SLIDE)",
    about: "Four layers for 20,000 labels: measured here, on a generated problem or on your own data",
    document: layers,
  },
];

const HOST = "local"; // as the files call the cluster of one machine

/** An example for a server with these clusters: where none is called as in the file, the first one computes. */
export function placed(document: Json, clusters: readonly string[]): Json {
  const [host] = clusters;
  if (host === undefined || clusters.includes(HOST)) return document;
  const moved = objectsAt(document, ["clusters"]).map((cluster) => ({
    ...cluster,
    ...(cluster.name === HOST && { name: host }),
    ...(cluster.computed_on === HOST && { computed_on: host }),
  }));
  return { ...document, clusters: moved };
}
