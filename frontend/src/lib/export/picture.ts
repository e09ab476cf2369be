/** Pixels of a picture for each of the drawing: sharp in print. */
const SCALE = 3;

export interface Vector {
  readonly svg: string;
  readonly width: number;
  readonly height: number;
}

export const svgBlob = ({ svg }: Vector) => new Blob([svg], { type: "image/svg+xml" });

/** A drawing as a PNG. Rejects where the browser cannot draw it. */
export async function pngOf(vector: Vector): Promise<Blob> {
  const url = URL.createObjectURL(svgBlob(vector));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = vector.width * SCALE;
    canvas.height = vector.height * SCALE;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) =>
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("The browser made no picture.")))),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

const INHERITED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-opacity",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
];

/** A drawing of the page with the style that sheets give it, on the colour of the page. */
export function standalone(drawing: SVGSVGElement): Vector {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const from = [drawing, ...drawing.querySelectorAll("*")];
  for (const [i, part] of [copy, ...copy.querySelectorAll<SVGElement>("*")].entries()) {
    const style = getComputedStyle(from[i] as Element);
    for (const name of INHERITED) part.style.setProperty(name, style.getPropertyValue(name));
    part.removeAttribute("class");
  }
  const { width, height } = drawing.getBoundingClientRect();
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", String(width));
  ground.setAttribute("height", String(height));
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return { svg: new XMLSerializer().serializeToString(copy), width, height };
}
