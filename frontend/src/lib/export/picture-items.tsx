import { Menu } from "@mantine/core";
import { pngOf, svgBlob, type Vector } from "./picture";
import { fileName, save } from "./save";

/** A drawing as a picture of points or of lines. */
export function PictureItems({ of, drawing }: { of: string; drawing: () => Vector | undefined }) {
  return (
    <>
      <Menu.Item
        onClick={async () => {
          const vector = drawing();
          if (vector) save(`${fileName(of)}.png`, await pngOf(vector));
        }}
      >
        Save as PNG
      </Menu.Item>
      <Menu.Item
        onClick={() => {
          const vector = drawing();
          if (vector) save(`${fileName(of)}.svg`, svgBlob(vector));
        }}
      >
        Save as SVG
      </Menu.Item>
    </>
  );
}
