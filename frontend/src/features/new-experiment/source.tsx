import type { AlgorithmView, WorkloadView } from "@/lib/client/types.gen";
import styles from "./form.module.css";

/** Where a user's own algorithm or workload comes from, and which source is meant. */
export function Source({ offered }: { offered: AlgorithmView | WorkloadView }) {
  const clusters = Object.entries(offered.offers);
  const hashes = new Set(clusters.map(([, hash]) => hash));
  return (
    <p className={styles.source} data-testid="own-source">
      Your own, from {offered.origin === "file" ? "a file" : "an installed package"}:{" "}
      {hashes.size > 1
        ? clusters.map(([cluster, hash]) => `${hash.slice(0, 12)} on ${cluster}`).join(", ")
        : `SHA-256 ${offered.hash.slice(0, 12)} on ${clusters.map(([cluster]) => cluster).join(", ")}`}
    </p>
  );
}
