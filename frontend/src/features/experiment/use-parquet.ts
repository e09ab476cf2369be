import { useMutation } from "@tanstack/react-query";
import { exportPointsParquet, exportRunsParquet } from "@/lib/client/sdk.gen";
import { download } from "@/lib/export/save";

/** Which runs a file has, and in what order. */
export interface RunsAsked {
  readonly experiment: string;
  readonly sort?: string;
  readonly filter?: string;
}

/** The address of that file. */
export const runsFile = (kind: "csv" | "parquet", runs: RunsAsked) =>
  `/api/v1/runs.${kind}?${new URLSearchParams(Object.entries(runs))}`;

/**
 * Runs or points of an experiment as Parquet, to the browser's downloads. The server is asked first: one without
 * pyarrow refuses, and a download that fails does not say why.
 */
export function useParquet(runs: RunsAsked) {
  return useMutation({
    mutationFn: async (what: "runs" | "points") => {
      const asking = new AbortController();
      const how = { parseAs: "stream", signal: asking.signal, throwOnError: true } as const;
      if (what === "runs") await exportRunsParquet({ ...how, query: runs });
      else await exportPointsParquet({ ...how, path: { experiment_id: runs.experiment } });
      asking.abort(); // nothing of the file has been read: the browser fetches it whole
      download(
        what === "runs" ? runsFile("parquet", runs) : `/api/v1/experiments/${runs.experiment}/points.parquet`,
      );
    },
  });
}

export type ParquetExport = ReturnType<typeof useParquet>;
