import { Menu } from "@mantine/core";
import { useState } from "react";
import { ExportMenu } from "./export-menu";
import { copyOrSave, fileName, saveText } from "./save";
import { csvOf, latexOf, markdownOf, sheetOf } from "./sheet";

interface TableMenuProps {
  of: string;
  table: () => HTMLTableElement | null;
  /** Draws what of the table is not in view; what it returns ends that. */
  prepare?: () => () => void;
}

/** A table as it is shown: as a file with commas, or copied for a text. */
export function TableMenu({ of, table, prepare }: TableMenuProps) {
  const [said, setSaid] = useState<string>();
  const sheet = () => {
    const end = prepare?.();
    const found = table();
    const read = found && sheetOf(found);
    end?.();
    return read;
  };
  const copy = async (ending: string, text: string) => {
    setSaid((await copyOrSave(`${fileName(of)}.${ending}`, text)) ? "Copied" : "Saved");
  };
  return (
    <ExportMenu of={of} said={said} opened={() => setSaid(undefined)}>
      <Menu.Item
        onClick={() => {
          const found = sheet();
          if (found) saveText(`${fileName(of)}.csv`, csvOf(found), "text/csv");
        }}
      >
        Save as CSV
      </Menu.Item>
      <Menu.Item
        onClick={() => {
          const found = sheet();
          if (found) void copy("md", markdownOf(found));
        }}
      >
        Copy as Markdown
      </Menu.Item>
      <Menu.Item
        onClick={() => {
          const found = sheet();
          if (found) void copy("tex", latexOf(found));
        }}
      >
        Copy as LaTeX
      </Menu.Item>
    </ExportMenu>
  );
}
