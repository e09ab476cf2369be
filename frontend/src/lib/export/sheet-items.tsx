import { Menu } from "@mantine/core";
import { copyOrSave, fileName, saveText } from "./save";
import { csvOf, latexOf, markdownOf, type Sheet } from "./sheet";

interface SheetItemsProps {
  of: string;
  /** Read when it is wanted. */
  sheet: () => Sheet | null;
  /** Told what was done with it. */
  done?: (said: string) => void;
}

/** What a table can be taken away as: a file with commas, or copied for a text. */
export function SheetItems({ of, sheet, done }: SheetItemsProps) {
  const copy = async (ending: string, text: (sheet: Sheet) => string) => {
    const found = sheet();
    if (found) done?.((await copyOrSave(`${fileName(of)}.${ending}`, text(found))) ? "Copied" : "Saved");
  };
  return (
    <>
      <Menu.Item
        onClick={() => {
          const found = sheet();
          if (found) saveText(`${fileName(of)}.csv`, csvOf(found), "text/csv");
        }}
      >
        Save as CSV
      </Menu.Item>
      <Menu.Item onClick={() => void copy("md", markdownOf)}>Copy as Markdown</Menu.Item>
      <Menu.Item onClick={() => void copy("tex", latexOf)}>Copy as LaTeX</Menu.Item>
    </>
  );
}
