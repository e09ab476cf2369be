import { Menu } from "@mantine/core";
import { type RefObject, Suspense, useState } from "react";
import { ExportMenu } from "@/lib/export/export-menu";
import { standalone, type Vector } from "@/lib/export/picture";
import { PictureItems } from "@/lib/export/picture-items";
import { fileName, saveText } from "@/lib/export/save";
import { csvOf } from "@/lib/export/sheet";
import { lazily } from "@/lib/ui/lazily";
import type { Sheet } from "./sheet-table";

const SheetTable = lazily(() => import("./sheet-table").then((part) => part.SheetTable));

interface DrawingMenuProps {
  of: string;
  /** What holds the drawing, or makes one for a paper; without it there is no picture. */
  host?: RefObject<HTMLElement | null> | (() => Vector);
  /** What it shows, for those who want figures. */
  sheet: () => Sheet;
}

/** Takes away a chart that is a drawing of the page, or shows it as a table. */
export function DrawingMenu({ of, host, sheet }: DrawingMenuProps) {
  const [shown, setShown] = useState<Sheet>();
  const drawing = () => {
    if (typeof host === "function") return host();
    const found = host?.current?.querySelector("svg");
    return found ? standalone(found) : undefined;
  };
  return (
    <>
      <ExportMenu of={of}>
        <Menu.Item onClick={() => setShown(sheet())}>Show as a table</Menu.Item>
        {host && <PictureItems of={of} drawing={drawing} />}
        <Menu.Item onClick={() => saveText(`${fileName(of)}.csv`, csvOf(sheet()), "text/csv")}>
          Save as CSV
        </Menu.Item>
      </ExportMenu>
      {shown && (
        <Suspense>
          <SheetTable of={of} sheet={shown} onClose={() => setShown(undefined)} />
        </Suspense>
      )}
    </>
  );
}
