import { Button, Text } from "@mantine/core";
import type { CheckpointView, FetchView, RunView } from "@/lib/client/types.gen";
import { formatBytes, formatCount } from "@/lib/format/numbers";
import { formatMoment } from "@/lib/format/time";
import { Allowed } from "@/lib/people/allowed";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { LoadFault } from "@/lib/ui/load-fault";
import own from "./files.module.css";
import { type Fetches, isOpen } from "./use-fetches";

interface FetchControlsProps {
  run: RunView;
  checkpoint: CheckpointView;
  fetches: Fetches;
}

/** From the request to the download of one checkpoint. */
export function FetchControls({ run, checkpoint, fetches }: FetchControlsProps) {
  const fetch = fetches.of(checkpoint);
  const refused = fetches.refused(checkpoint);
  const at = `at ${formatCount(checkpoint.samples)} samples`;
  if (!fetches.known)
    return <LoadFault what="What the server has of it could not be loaded." query={fetches.list} />;
  return (
    <div className={own.fetch} data-testid="fetch">
      {fetch && isOpen(fetch) && <Way fetch={fetch} at={at} />}
      <Allowed least="researcher">
        {fetch?.state === "ready" ? (
          <Ready run={run} fetch={fetch} at={at} fetches={fetches} />
        ) : fetch && isOpen(fetch) ? (
          <Button
            {...SMALL}
            aria-label={`Cancel the fetch ${at}`}
            loading={fetches.removing}
            onClick={() => fetches.remove(fetch)}
          >
            Cancel
          </Button>
        ) : (
          <Button
            {...SMALL}
            aria-label={`Fetch the checkpoint ${at}`}
            loading={fetches.asking(checkpoint)}
            onClick={() => fetches.ask(checkpoint)}
          >
            {fetch?.state === "failed" ? "Fetch again" : "Fetch"}
          </Button>
        )}
      </Allowed>
      {fetch?.state === "failed" && (
        <p className={own.why} role="alert">
          The checkpoint could not be fetched: {fetch.why}.
        </p>
      )}
      {refused && <ErrorPanel what="The checkpoint could not be fetched." error={refused} />}
      {fetches.notRemoved && (
        <ErrorPanel what="The checkpoint could not be removed." error={fetches.notRemoved} />
      )}
    </div>
  );
}

const SMALL = { size: "compact-sm", variant: "default" } as const;

/** How far it is. */
function Way({ fetch, at }: { fetch: FetchView; at: string }) {
  const told =
    fetch.state === "waiting"
      ? `Waiting for ${fetch.cluster} …`
      : `${formatBytes(fetch.received)} of ${formatBytes(fetch.size)}`;
  return (
    <>
      <progress
        className={own.bar}
        value={fetch.received}
        max={fetch.size}
        aria-label={`Fetching the checkpoint ${at}`}
      />
      <Text fz={13.5} c="dimmed">
        {told}
      </Text>
    </>
  );
}

function Ready({
  run,
  fetch,
  at,
  fetches,
}: {
  run: RunView;
  fetch: FetchView;
  at: string;
  fetches: Fetches;
}) {
  return (
    <>
      <Button
        {...SMALL}
        component="a"
        download
        href={`/api/v1/runs/${run.id}/fetches/${fetch.id}/checkpoint.tar`}
        aria-label={`Download the checkpoint ${at}`}
      >
        Download, tar, {formatBytes(fetch.size)}
      </Button>
      <Button
        {...SMALL}
        aria-label={`Remove the checkpoint ${at} from the server`}
        loading={fetches.removing}
        onClick={() => fetches.remove(fetch)}
      >
        Remove from the server
      </Button>
      <Text fz={13.5} c="dimmed" role="status">
        on the server until {formatMoment(fetch.expires_at)}
      </Text>
    </>
  );
}
