import { Menu } from "@mantine/core";
import { pngOf, svgBlob, type Vector } from "./picture";
import { fileName, save } from "./save";

/** As a PNG; as the drawing that it is made of, where the browser cannot make one. */
async function savePng(of: string, vector: Vector): Promise<void> {
  try {
    save(`${fileName(of)}.png`, await pngOf(vector));
  } catch {
    save(`${fileName(of)}.svg`, svgBlob(vector));
  }
}

/** A drawing as a picture of points or of lines. */
export function PictureItems({ of, drawing }: { of: string; drawing: () => Vector | undefined }) {
  return (
    <>
      <Menu.Item
        onClick={() => {
          const vector = drawing();
          if (vector) void savePng(of, vector);
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
