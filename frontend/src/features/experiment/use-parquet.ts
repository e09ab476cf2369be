import { useMutation } from "@tanstack/react-query";
import { exportPointsParquet, exportRunsParquet } from "@/lib/client/sdk.gen";
import { download } from "@/lib/export/save";

/**
 * Runs or points of an experiment as Parquet, to the browser's downloads. The server is asked first: one without
 * pyarrow refuses, and a download that fails does not say why.
 */
export function useParquet(experiment: string) {
  return useMutation({
    mutationFn: async (what: "runs" | "points") => {
      const asking = new AbortController();
      const how = { parseAs: "stream", signal: asking.signal, throwOnError: true } as const;
      if (what === "runs") await exportRunsParquet({ ...how, query: { experiment } });
      else await exportPointsParquet({ ...how, path: { experiment_id: experiment } });
      asking.abort(); // nothing of the file has been read: the browser fetches it whole
      download(
        what === "runs"
          ? `/api/v1/runs.parquet?experiment=${experiment}`
          : `/api/v1/experiments/${experiment}/points.parquet`,
      );
    },
  });
}

export type ParquetExport = ReturnType<typeof useParquet>;
