import { Menu } from "@mantine/core";
import { chartSvg, type Drawing } from "@/lib/export/chart-svg";
import { curvesCsv } from "@/lib/export/curves-sheet";
import { ExportMenu } from "@/lib/export/export-menu";
import { PictureItems } from "@/lib/export/picture-items";
import { fileName, saveText } from "@/lib/export/save";

/** Takes a chart away as it is seen: its zoom, the curves that are switched on. */
export function ChartMenu({ of, drawing }: { of: string; drawing: () => Drawing }) {
  return (
    <ExportMenu of={of}>
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
  );
}
