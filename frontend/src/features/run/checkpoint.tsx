import { Button, Text, Tooltip } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { checkpointRunMutation, readRunQueryKey } from "@/lib/client/@tanstack/react-query.gen";
import type { RunView } from "@/lib/client/types.gen";
import { formatBytes, formatCount } from "@/lib/format/numbers";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { isTerminal } from "@/lib/ui/states";

const TOLD = "Save all weights and the state of the algorithm now; the run continues. Takes a few seconds.";

/** A request for a checkpoint, from the click until the checkpoint lies on the cluster. */
export function useCheckpoint(run: RunView) {
  const client = useQueryClient();
  // how many checkpoints there were at the click; a periodic one that comes in between will do
  const [requested, setRequested] = useState<number>();
  const mutation = useMutation({
    ...checkpointRunMutation(),
    onSuccess: (view) => client.setQueryData(readRunQueryKey({ path: { run_id: view.id } }), view),
  });
  const came =
    requested !== undefined && run.checkpoints.length > requested ? run.checkpoints.at(-1) : undefined;
  const failed = mutation.isError;
  return {
    error: mutation.error,
    came,
    waiting: requested !== undefined && !came && !failed && !isTerminal(run.state),
    ended: requested !== undefined && !came && !failed && isTerminal(run.state),
    ask: () => {
      setRequested(run.checkpoints.length);
      mutation.mutate({ path: { run_id: run.id } });
    },
  };
}

type CheckpointRequest = ReturnType<typeof useCheckpoint>;

/** Shown only while the run is in its loop: nobody else could write one. */
export function CheckpointButton({ run, request }: { run: RunView; request: CheckpointRequest }) {
  if (run.state !== "running" || run.cancel_requested) return null;
  return (
    <Tooltip label={TOLD} multiline w={270} withArrow position="bottom-end" events={EVENTS}>
      <Button variant="default" onClick={request.ask} loading={request.waiting} data-testid="checkpoint-run">
        Save a checkpoint
      </Button>
    </Tooltip>
  );
}

const EVENTS = { hover: true, focus: true, touch: false };

/** What became of the request. */
export function CheckpointNote({ request }: { request: CheckpointRequest }) {
  const { came } = request;
  if (request.error)
    return <ErrorPanel what="The checkpoint could not be requested." error={request.error} />;
  return (
    <div role="status">
      {request.waiting && (
        <Text fz={13.5} c="dimmed" mt={12}>
          Waiting for every rank to save its state …
        </Text>
      )}
      {request.ended && (
        <Text fz={13.5} c="dimmed" mt={12}>
          The run ended before it could save a checkpoint.
        </Text>
      )}
      {came && (
        <Text fz={13.5} c="dimmed" mt={12} data-testid="checkpoint-came">
          Checkpoint saved at {formatCount(came.samples)} samples, {formatBytes(came.bytes)}; the run
          continues.
        </Text>
      )}
    </div>
  );
}
