import { Button, Group, Modal, NativeSelect, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { listRunsOptions, readWorkersOptions } from "@/lib/client/@tanstack/react-query.gen";
import type { ClusterView, RunSummary } from "@/lib/client/types.gen";
import { type Json, objectsAt, textAt } from "@/lib/json/document";
import { LoadFault } from "@/lib/ui/load-fault";
import { devicesText } from "./devices";
import { useForm } from "./form-context";
import { withMeasuredCluster } from "./measured-cluster";
import { CUSTOM, networkChoices } from "./networks";

/** Runs to choose from, the newest first. */
const MOST = 50;
const REAL = "not simulated and state = succeeded and workers > 1";

const told = (run: RunSummary) =>
  `#${run.experiment_number ?? "?"} ${run.variant}, ${run.workers} workers on ${run.cluster}, seed ${run.seed} (${run.id})`;

interface RunSpeedsProps {
  clusters: readonly ClusterView[];
  onClose: () => void;
}

/** Asks for a real run, and adds a virtual cluster whose workers are as fast as those of this run were. */
export function RunSpeeds({ clusters, onClose }: RunSpeedsProps) {
  const { change } = useForm();
  const [id, setId] = useState("");
  const [network, setNetwork] = useState("10gbe");
  const runs = useQuery(listRunsOptions({ query: { filter: REAL, sort: "-created", limit: MOST } }));
  const workers = useQuery({ ...readWorkersOptions({ path: { run_id: id } }), enabled: id !== "" });
  const found = runs.data?.items ?? [];
  const cluster = workers.data?.virtual_cluster;
  return (
    <Modal opened onClose={onClose} title="Speeds of a run" closeButtonProps={{ "aria-label": "Close" }}>
      <NativeSelect
        label="Run"
        description="Real runs with several workers that have succeeded, the newest first"
        data-autofocus
        data={[
          { value: "", label: runs.data && found.length === 0 ? "No run yet" : "Choose a run" },
          ...found.map((run) => ({ value: run.id, label: told(run) })),
        ]}
        value={id}
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <LoadFault what="The runs could not be loaded." query={runs} />
      {runs.data?.next_cursor && (
        <Text fz={13} c="dimmed" mt={4}>
          The latest {MOST}. The page of an earlier run has its speeds under “Work by worker”, to copy into
          YAML.
        </Text>
      )}
      <NativeSelect
        label="Network"
        description="A run does not record its network. That of a calibrated cluster brings its other constants along"
        mt="sm"
        data={networkChoices(clusters, network).filter(({ value }) => value !== CUSTOM)}
        value={network}
        onChange={(event) => setNetwork(event.currentTarget.value)}
      />
      <LoadFault what="The speeds of this run could not be loaded." query={workers} />
      {workers.data && <Speeds cluster={cluster ?? null} why={workers.data.no_virtual_cluster} />}
      <Group gap="xs" justify="flex-end" mt="md">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          disabled={!cluster}
          onClick={() => {
            if (cluster) change((old) => withMeasuredCluster(old, cluster, network));
            onClose();
          }}
        >
          Add cluster
        </Button>
      </Group>
    </Modal>
  );
}

/** What would be added, or why there is nothing. */
function Speeds({ cluster, why }: { cluster: Json | null; why: string | null }) {
  return (
    <Text fz={13.5} mt="sm" data-testid="run-speeds">
      {cluster
        ? `${devicesText(objectsAt(cluster, ["workers"]))}; compute time ${textAt(cluster, ["virtual", "compute_source"])}.`
        : why}
    </Text>
  );
}
