import { Menu } from "@mantine/core";
import { memo, Suspense, useState } from "react";
import { chartSvg } from "@/lib/export/chart-svg";
import { curvesCsv } from "@/lib/export/curves-sheet";
import { ExportMenu } from "@/lib/export/export-menu";
import { PictureItems } from "@/lib/export/picture-items";
import { fileName, saveText } from "@/lib/export/save";
import { lazily } from "@/lib/ui/lazily";
import type { Readable } from "./chart-table";

const ChartTable = lazily(() => import("./chart-table").then((part) => part.ChartTable));

interface ChartMenuProps {
  of: string;
  drawing: () => Readable;
}

/** Takes a chart away as it is seen, its zoom and the curves that are switched on, or shows it as a table. Nothing else renders it. */
export const ChartMenu = memo(function ChartMenu({ of, drawing }: ChartMenuProps) {
  const [shown, setShown] = useState<Readable>();
  return (
    <>
      <ExportMenu of={of}>
        <Menu.Item onClick={() => setShown(drawing())}>Show as a table</Menu.Item>
        <PictureItems of={of} drawing={() => chartSvg(drawing())} />
        <Menu.Item
          onClick={() => {
            const { series, xTitle, title } = drawing();
            saveText(`${fileName(of)}.csv`, curvesCsv(series, xTitle, title), "text/csv");
          }}
        >
          Save as CSV
        </Menu.Item>
      </ExportMenu>
      {shown && (
        <Suspense>
          <ChartTable of={of} shown={shown} onClose={() => setShown(undefined)} />
        </Suspense>
      )}
    </>
  );
});
