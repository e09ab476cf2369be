import { Button } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { lazily } from "@/lib/ui/lazily";
import { WhenPressed } from "@/lib/ui/when-pressed";

const ListExport = lazily(() => import("./list-export").then((part) => part.ListExport));

/** Takes the list away; `more`: there are further experiments, which are not read yet. */
export function ExportButton(props: { items: readonly ExperimentSummary[]; more: boolean }) {
  return (
    <WhenPressed
      button={
        <Button variant="subtle" size="compact-sm" data-testid="export-list">
          Export the list
        </Button>
      }
      opens={(button) => <ListExport button={button} {...props} />}
    />
  );
}
