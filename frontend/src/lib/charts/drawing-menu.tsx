import type { RefObject } from "react";
import { ExportMenu } from "@/lib/export/export-menu";
import { standalone } from "@/lib/export/picture";
import { PictureItems } from "@/lib/export/picture-items";

/** Takes away a chart that is a drawing of the page; its figures are in the table that it belongs to. */
export function DrawingMenu({ of, host }: { of: string; host: RefObject<HTMLElement | null> }) {
  const drawing = () => {
    const found = host.current?.querySelector("svg");
    return found ? standalone(found) : undefined;
  };
  return (
    <ExportMenu of={of}>
      <PictureItems of={of} drawing={drawing} />
    </ExportMenu>
  );
}
