import { Text } from "@mantine/core";
import type { CheckpointView, RunView } from "@/lib/client/types.gen";
import { formatBytes, formatCount } from "@/lib/format/numbers";
import { FetchControls } from "./fetch-controls";
import own from "./files.module.css";
import { useFetches } from "./use-fetches";

/** A cluster keeps the newest two of an attempt. */
const SHOWN = 2;

/** They stay on the cluster; one that a user asks for is sent to the server, which keeps it for a day. */
export function Checkpoints({ run }: { run: RunView }) {
  if (run.host.startsWith("~"))
    return <Told>This run was imported; its checkpoints stayed on the cluster where it ran.</Told>;
  if (run.checkpoints.length === 0)
    return <Told>No checkpoint was reported. Checkpoints stay on {run.host}.</Told>;
  return <Listed run={run} />;
}

function Listed({ run }: { run: RunView }) {
  const fetches = useFetches(run.id);
  const newest = run.checkpoints.slice(-SHOWN);
  // the server may have one that its cluster has not any more
  const older = run.checkpoints.slice(0, -SHOWN).filter((one) => fetches.of(one)?.state === "ready");
  return (
    <>
      <Told>
        Checkpoints stay on {run.host}, which keeps the newest two of an attempt. Fetch one to download it:
      </Told>
      <ul className={own.places} aria-label="Checkpoints on the cluster">
        {[...older, ...newest].map((one) => (
          <li key={`${one.attempt} ${one.path}`}>
            <span>
              <code>{one.path}</code>
              {run.attempt > 1 && ` of attempt ${one.attempt}`}, {sizeOf(one)}
            </span>
            <FetchControls run={run} checkpoint={one} fetches={fetches} />
          </li>
        ))}
      </ul>
    </>
  );
}

const sizeOf = ({ samples, bytes, ranks }: CheckpointView) =>
  `${formatCount(samples)} samples, ${formatBytes(bytes)} of ${ranks} ${ranks === 1 ? "rank" : "ranks"}`;

function Told({ children }: { children: React.ReactNode }) {
  return (
    <Text fz={13.5} c="dimmed" mt={12}>
      {children}
    </Text>
  );
}
