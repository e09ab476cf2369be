import { Button, Group } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { exportPointsParquet } from "@/lib/client/sdk.gen";
import type { RunView } from "@/lib/client/types.gen";
import { download, saveText } from "@/lib/export/save";
import { ErrorPanel } from "@/lib/ui/error-panel";
import { Section } from "@/lib/ui/section";
import { isTerminal } from "@/lib/ui/states";
import { Checkpoints } from "./checkpoints";

/** What the server has of a run, as files; and where the rest is. */
export function FilesPart({ run }: { run: RunView }) {
  const points = `/api/v1/experiments/${run.experiment_id}/points`;
  const parquet = useParquet(run, `${points}.parquet?run=${run.id}`);
  const traced = run.spec.trace === true && isTerminal(run.state) && !run.host.startsWith("~");
  return (
    <Section title="Files" testId="files">
      <Group gap={8}>
        <File href={`${points}.csv?run=${run.id}`}>Points, CSV</File>
        <Button
          size="compact-sm"
          variant="default"
          loading={parquet.isPending}
          onClick={() => parquet.mutate()}
        >
          Points, Parquet
        </Button>
        <File href={`/api/v1/runs/${run.id}/log.txt`}>Log, text</File>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => saveText(`run-${run.number}.json`, specOf(run), "application/json")}
        >
          Specification, JSON
        </Button>
        {traced && <File href={`/api/v1/runs/${run.id}/trace.json`}>Trace, for ui.perfetto.dev</File>}
      </Group>
      {parquet.isError && <ErrorPanel what="The Parquet file could not be created." error={parquet.error} />}
      <Checkpoints run={run} />
    </Section>
  );
}

const specOf = (run: RunView) => `${JSON.stringify(run.spec, null, 2)}\n`;

function File({ href, children }: { href: string; children: string }) {
  return (
    <Button component="a" href={href} download size="compact-sm" variant="default">
      {children}
    </Button>
  );
}

/** The server is asked first: one without pyarrow refuses, and a download that fails does not say why. */
function useParquet(run: RunView, address: string) {
  return useMutation({
    mutationFn: async () => {
      const asking = new AbortController();
      const path = { experiment_id: run.experiment_id };
      const how = { parseAs: "stream", signal: asking.signal, throwOnError: true } as const;
      await exportPointsParquet({ ...how, path, query: { run: run.id } });
      asking.abort(); // nothing of the file has been read: the browser fetches it whole
      download(address);
    },
  });
}
