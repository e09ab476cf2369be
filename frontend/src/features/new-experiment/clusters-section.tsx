import { Button, Group, Menu, TextInput } from "@mantine/core";
import { Suspense, useState } from "react";
import type { ClusterView } from "@/lib/client/types.gen";
import { PRESETS } from "@/lib/format/networks";
import { isJson, type Json, objectsAt, type Path } from "@/lib/json/document";
import { lazily } from "@/lib/ui/lazily";
import { Section } from "@/lib/ui/section";
import { Tag } from "@/lib/ui/tag";
import { DevicesField } from "./devices-field";
import {
  withCluster,
  withoutCluster,
  withVirtualCluster,
  withVirtualLike,
  workersFrom,
  workersText,
} from "./draft";
import { ChoiceField, NumberField, TextField } from "./fields";
import styles from "./form.module.css";
import { useField, useForm } from "./form-context";
import { ComputingFields, NetworkField } from "./network-fields";

const RunSpeeds = lazily(() => import("./run-speeds").then((part) => part.RunSpeeds));

/** Where the runs execute: registered clusters, and simulated ones computed on them. */
export function ClustersSection({ clusters }: { clusters: readonly ClusterView[] }) {
  const { draft, change } = useForm();
  const { control, error } = useField(["clusters"]);
  const host = clusters[0]?.name ?? "local";
  const [asks, setAsks] = useState(false);
  return (
    <Section
      title="Clusters"
      testId="clusters"
      aside={
        <Group gap={8}>
          <Menu shadow="md" position="bottom-end">
            <Menu.Target>
              <Button size="xs" variant="default" data-testid="add-cluster">
                Add cluster
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {clusters.map((cluster) => (
                <Menu.Item key={cluster.name} onClick={() => change((old) => withCluster(old, cluster.name))}>
                  {cluster.name} ({cluster.cores} cores{cluster.online ? "" : ", offline"})
                </Menu.Item>
              ))}
              {clusters.length === 0 && <Menu.Label>No clusters yet</Menu.Label>}
            </Menu.Dropdown>
          </Menu>
          <Menu shadow="md" position="bottom-end">
            <Menu.Target>
              <Button size="xs" variant="default" data-testid="add-virtual-cluster">
                Add virtual cluster
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              {PRESETS.map((preset) => (
                <Menu.Item
                  key={preset.key}
                  onClick={() => change((old) => withVirtualCluster(old, preset, host))}
                >
                  {preset.label}
                </Menu.Item>
              ))}
              {clusters.map(({ name }) => (
                <Menu.Item key={`like ${name}`} onClick={() => change((old) => withVirtualLike(old, name))}>
                  Like {name}, as calibrated
                </Menu.Item>
              ))}
              <Menu.Item onClick={() => setAsks(true)}>With the speeds of a run…</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      }
    >
      {asks && (
        <Suspense>
          <RunSpeeds clusters={clusters} onClose={() => setAsks(false)} />
        </Suspense>
      )}
      <div {...control} tabIndex={-1}>
        <Problems clusters={clusters} />
        {error && <p className={styles.error}>{error}</p>}
        <div className={styles.cards}>
          {objectsAt(draft, ["clusters"]).map((cluster, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a cluster has no identity but its place, as in the document
            <ClusterCard key={index} index={index} cluster={cluster} clusters={clusters} />
          ))}
        </div>
      </div>
    </Section>
  );
}

/** Files of users that a cluster could not read: it offers everything else. */
function Problems({ clusters }: { clusters: readonly ClusterView[] }) {
  const found = clusters.flatMap((cluster) =>
    cluster.problems.map((problem) => ({ ...problem, cluster: cluster.name })),
  );
  if (found.length === 0) return null;
  return (
    <ul className={styles.warnings} data-testid="file-problems">
      {found.map(({ cluster, kind, name, file, error }) => (
        <li key={`${cluster} ${file} ${name}`}>
          {cluster} does not offer your {kind} <strong>{name}</strong> ({file}): {error}
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  index: number;
  cluster: Json;
  clusters: readonly ClusterView[];
}

function ClusterCard({ index, cluster, clusters }: CardProps) {
  const { change } = useForm();
  const path = ["clusters", index] as const;
  const virtual = isJson(cluster.virtual);
  const like = isJson(cluster.virtual) && cluster.virtual.like !== undefined;
  const kinds = isJson(cluster.virtual) && cluster.virtual.devices !== undefined;
  const registered = clusters.map((one) => ({
    value: one.name,
    label: one.online ? one.name : `${one.name} (offline)`,
  }));
  return (
    <fieldset className={styles.card} data-testid="cluster-card">
      <legend className={styles.legend}>
        Cluster {index + 1} {virtual && <Tag kind="simulated" />}
      </legend>
      <div className={styles.cardActions}>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => change((old) => withoutCluster(old, index))}
        >
          Remove
        </Button>
      </div>
      <div className={styles.grid}>
        {virtual || typeof cluster.computed_on === "string" ? (
          <>
            <TextField
              path={[...path, "name"]}
              label="Name"
              description={virtual ? "Of the virtual cluster" : "Of the cluster with these kinds of workers"}
            />
            <ChoiceField
              path={[...path, "computed_on"]}
              label="Computed on"
              description="Uses slots of that cluster"
              choices={registered}
            />
          </>
        ) : (
          <ChoiceField
            path={[...path, "name"]}
            label="Cluster"
            description="Registered by its agent"
            choices={registered}
          />
        )}
        <WorkersField path={[...path, "workers"]} virtual={virtual} />
        <NumberField
          path={[...path, "seeds"]}
          label="Seeds"
          description="Runs per variant; 3 or more to compare"
          fallback={3}
        />
        {virtual && <NetworkField index={index} clusters={clusters} />}
        {(!like || kinds) && <DevicesField index={index} virtual={virtual} />}
      </div>
      {virtual && !like && <ComputingFields index={index} />}
    </fieldset>
  );
}

function WorkersField({ path, virtual }: { path: Path; virtual: boolean }) {
  const { value, set, error, control } = useField(path);
  const [typed, setTyped] = useState<string>();
  const current = workersText(value);
  const agrees = typed !== undefined && workersText(workersFrom(typed)) === current;
  return (
    <TextInput
      {...control}
      label="Workers"
      description={virtual ? "One or several numbers: 4, 8, 16" : "auto, or one or several numbers: 2, 4"}
      error={error}
      autoComplete="off"
      value={agrees ? typed : current}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        set(workersFrom(event.currentTarget.value));
      }}
    />
  );
}
