import { Menu } from "@mantine/core";
import { useState } from "react";
import { ExportMenu } from "./export-menu";
import { copyOrSave, fileName, saveText } from "./save";
import { csvOf, latexOf, markdownOf, sheetOf } from "./sheet";

/** A table as it is shown: as a file with commas, or copied for a text. */
export function TableMenu({ of, table }: { of: string; table: () => HTMLTableElement | null }) {
  const [said, setSaid] = useState<string>();
  const sheet = () => {
    const found = table();
    return found && sheetOf(found);
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
