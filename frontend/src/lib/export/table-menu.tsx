import { type ReactNode, useState } from "react";
import { ExportMenu } from "./export-menu";
import { sheetOf } from "./sheet";
import { SheetItems } from "./sheet-items";

interface TableMenuProps {
  of: string;
  table: () => HTMLTableElement | null;
  /** Draws what of the table is not in view; what it returns ends that. */
  prepare?: () => () => void;
  /** Further items. */
  more?: ReactNode;
}

/** A table as it is shown: as a file with commas, or copied for a text. */
export function TableMenu({ of, table, prepare, more }: TableMenuProps) {
  const [said, setSaid] = useState<string>();
  const sheet = () => {
    const end = prepare?.();
    const found = table();
    const read = found && sheetOf(found);
    end?.();
    return read;
  };
  return (
    <ExportMenu of={of} said={said} opened={() => setSaid(undefined)}>
      {more}
      <SheetItems of={of} sheet={sheet} done={setSaid} />
    </ExportMenu>
  );
}
