import { NativeSelect } from "@mantine/core";
import { useState } from "react";
import type { ClusterView } from "@/lib/client/types.gen";
import { valueAt } from "@/lib/json/document";
import { NumberField, TextField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { CUSTOM, isLike, networkChoices, networkOf, networkWords, withNetwork } from "./networks";

/** The constants of a network that has no name; titles and defaults are those of the specification. */
const NETWORK_FIELDS = [
  ["latency", "Latency", "Seconds per message", 7.2e-6],
  ["seconds_per_byte", "Seconds per byte", "Inverse bandwidth of one link direction", 0.9e-9],
] as const;

const OTHER_FIELDS = [
  ["compute_seconds_per_sample", "Compute time", "Forward and backward, seconds per sample", 20e-6],
  ["compute_jitter", "Jitter", "Sigma of the log-normal factor on each step's compute", 0.05],
  ["memory_bandwidth", "Memory bandwidth", "Bytes per second; determines the time of vector updates", 100e9],
  [
    "host_seconds_per_byte",
    "Seconds per byte to a server",
    "For copies between device and host; empty: as between workers",
    null,
  ],
] as const;

interface NetworkProps {
  /** Of the cluster. */
  index: number;
  clusters: readonly ClusterView[];
}

/** The network of a virtual cluster by its name; numbers only of one that has none. */
export function NetworkField({ index, clusters }: NetworkProps) {
  const { draft, change } = useForm();
  const path = ["clusters", index, "virtual"] as const;
  const { control, error } = useField(path);
  const virtual = valueAt(draft, path);
  const named = networkOf(virtual);
  // numbers stay on the page also while they are those of a known network
  const [custom, setCustom] = useState(named === CUSTOM);
  const chosen = custom && !isLike(named) ? CUSTOM : named; // cards are known by their place, and another may stand here
  return (
    <>
      <NativeSelect
        {...control}
        label="Network"
        description={networkWords(virtual)}
        error={error}
        data={networkChoices(clusters, chosen)}
        value={chosen}
        onChange={(event) => {
          const network = event.currentTarget.value;
          setCustom(network === CUSTOM);
          change((old) => withNetwork(old, index, network));
        }}
      />
      {chosen === CUSTOM &&
        NETWORK_FIELDS.map(([name, label, description, fallback]) => (
          <NumberField
            key={name}
            path={[...path, name]}
            label={label}
            description={description}
            fallback={fallback}
          />
        ))}
    </>
  );
}

/** What a network by its name does not say: the computing of the workers, and a server apart. */
export function ComputingFields({ index }: { index: number }) {
  const path = ["clusters", index, "virtual"] as const;
  return (
    <details className={styles.details} data-testid="computing">
      <summary>Compute time, jitter, memory, server</summary>
      <div className={styles.grid}>
        {OTHER_FIELDS.map(([name, label, description, fallback]) => (
          <NumberField
            key={name}
            path={[...path, name]}
            label={label}
            description={description}
            fallback={fallback}
            nullable={fallback === null}
          />
        ))}
        <TextField
          path={[...path, "compute_source"]}
          label="Source of the compute time"
          description="Where it was measured; empty: an assumption"
        />
      </div>
    </details>
  );
}
