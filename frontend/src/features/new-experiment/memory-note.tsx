import type { MemoryView } from "@/lib/client/types.gen";
import { formatBytes } from "@/lib/format/numbers";
import styles from "./queue-note.module.css";

/** Whether the host is known to have less memory than is predicted. */
export function isTooLarge({ bytes, available }: MemoryView): boolean {
  return typeof bytes === "number" && typeof available === "number" && bytes > available;
}

/** "about 1.3 GB of 16.6 GB on rack", or why nothing can be said. */
export function memoryWords(view: MemoryView): string {
  const { bytes, available, host } = view;
  if (typeof bytes !== "number") {
    return "no prediction: the size of this workload is unknown";
  }
  if (available === null) return `about ${formatBytes(bytes)}`;
  const beyond = isTooLarge(view) ? ", which is not enough" : "";
  return `about ${formatBytes(bytes)}; ${host} has ${formatBytes(available)}${beyond}`;
}

/** What the prediction is the sum of, and assumes. */
export function memoryBasis({ processes, workers, variant, assumed, ...parts }: MemoryView): string {
  const programs = processes === 1 ? "a program" : `${processes} programs`;
  const sum = [
    `${programs} ${formatBytes(parts.program)}`,
    `vectors ${formatBytes(parts.vectors)}`,
    `activations ${formatBytes(parts.activations)}`,
    ...(parts.data ? [`data ${formatBytes(parts.data)}`] : []),
  ].join(", ");
  const told = assumed && assumed.length > 0 ? `; assumed: ${assumed.join("; ")}` : "";
  return `estimate for ${variant} with ${workers} ${workers === 1 ? "worker" : "workers"}: ${sum}${told}`;
}

/** The memory that the largest planned run needs on each cluster, and what that is the sum of. */
export function MemoryNote({ memory }: { memory: readonly MemoryView[] }) {
  return (
    <ul className={styles.queues} data-testid="plan-memory">
      {memory.map((one) => (
        <li key={one.cluster}>
          <strong>Memory</strong>
          {memory.length > 1 && ` on ${one.cluster}`}:{" "}
          {isTooLarge(one) ? <strong>{memoryWords(one)}</strong> : memoryWords(one)}
          {typeof one.bytes === "number" && <span className={styles.basis}>{memoryBasis(one)}</span>}
        </li>
      ))}
    </ul>
  );
}
