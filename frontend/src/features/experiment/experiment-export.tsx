import { Button, Menu } from "@mantine/core";
import type { ExperimentView } from "@/lib/client/types.gen";
import { printPage } from "@/lib/export/print-page";
import { isTerminal } from "@/lib/ui/states";
import { type ParquetExport, type RunsAsked, runsFile } from "./use-parquet";

/** The experiment and its figures as files, made by the server. */
export function ExperimentExport({
  experiment,
  parquet,
  runs,
}: {
  experiment: ExperimentView;
  parquet: ParquetExport;
  /** Which runs in what order. */
  runs: RunsAsked;
}) {
  const ended = isTerminal(experiment.state);
  const later = ended ? "" : ", once all runs have ended";
  const own = `/api/v1/experiments/${experiment.id}`;
  return (
    <Menu shadow="md" position="bottom-end" withinPortal>
      <Menu.Target>
        <Button variant="default" data-testid="export">
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component="a" href={`${own}/report.html`} target="_blank" rel="noopener">
          Report, to read and print
        </Menu.Item>
        <Menu.Item onClick={() => printPage(`${own}/report.html`)}>Print or save as PDF</Menu.Item>
        <FileItem href={`${own}/bundle`} disabled={!ended}>
          {`Bundle, to import elsewhere${later}`}
        </FileItem>
        <FileItem href={`${own}/bundle?logs=true&traces=true`} disabled={!ended}>
          {`Bundle with output and traces${later}`}
        </FileItem>
        <Menu.Divider />
        <FileItem href={runsFile("csv", runs)}>All runs, CSV</FileItem>
        <Menu.Item onClick={() => parquet.mutate("runs")}>All runs, Parquet</Menu.Item>
        <FileItem href={`${own}/points.csv`}>All points, CSV</FileItem>
        <Menu.Item onClick={() => parquet.mutate("points")}>All points, Parquet</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function FileItem({ href, disabled, children }: { href: string; disabled?: boolean; children: string }) {
  if (disabled) return <Menu.Item disabled>{children}</Menu.Item>;
  return (
    <Menu.Item component="a" href={href} download>
      {children}
    </Menu.Item>
  );
}
