import { Menu } from "@mantine/core";
import type { ExperimentSummary } from "@/lib/client/types.gen";
import { SheetItems } from "@/lib/export/sheet-items";
import { OpenedMenu } from "@/lib/ui/opened-menu";
import type { MenuButton } from "@/lib/ui/when-pressed";
import { listSheet } from "./list-sheet";

interface ListExportProps {
  button: MenuButton;
  items: readonly ExperimentSummary[];
  /** Whether there are further ones, which are not read yet. */
  more: boolean;
}

/** The list as a file, or as text; with what is not shown of each. */
export function ListExport({ button, items, more }: ListExportProps) {
  const count = `${items.length} ${items.length === 1 ? "experiment" : "experiments"}`;
  return (
    <OpenedMenu button={button} shadow="md">
      <Menu.Label>{more ? `The first ${count}; load more for others` : count}</Menu.Label>
      <SheetItems of="Experiments" sheet={() => listSheet(items, Date.now())} />
    </OpenedMenu>
  );
}
