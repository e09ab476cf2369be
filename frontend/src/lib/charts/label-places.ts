/** Usual width of a letter of a label, px, in a wide font. */
export const LETTER = 6.2;
/** Height of a line of labels, px, and what of it lies below its base. */
const LINE = 14;
const BELOW = 3;
/** Half of the room that a point takes, and the distance of a label from it, px. */
const POINT = 7;
const BESIDE = 10;

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Label {
  readonly key: string;
  readonly name: string;
  readonly x: number;
  /** Of its base line. */
  readonly y: number;
  readonly anchor: "start" | "end";
}

/** A point that is to be named: where it stands, px. */
export interface Named {
  readonly key: string;
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

const meet = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function boxOf({ name, x, y, anchor }: Label): Box {
  const width = name.length * LETTER;
  const left = anchor === "start" ? x : x - width;
  return { left, right: left + width, top: y - LINE + BELOW, bottom: y + BELOW };
}

/**
 * Where names stand beside their points: on the right or the left, above or below, within the frame, and on no other
 * name or point. Where that is impossible, below the names that are there.
 */
export function labelPlaces(
  named: readonly Named[],
  points: readonly (readonly [number, number])[],
  frame: { left: number; right: number },
): Label[] {
  const taken: Box[] = points.map(([x, y]) => ({
    left: x - POINT,
    right: x + POINT,
    top: y - POINT,
    bottom: y + POINT,
  }));
  const found: Label[] = [];
  const most = Math.floor((frame.right - frame.left) / LETTER);
  for (const { key, name: whole, x, y } of [...named].sort((a, b) => a.y - b.y)) {
    const name = whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
    const choices = (["start", "end"] as const).flatMap((anchor) =>
      [y - 9, y + 18].map((base): Label => {
        return { key, name, x: anchor === "start" ? x + BESIDE : x - BESIDE, y: base, anchor };
      }),
    );
    const free = choices.find((label) => {
      const box = boxOf(label);
      const within = box.left >= frame.left && box.right <= frame.right;
      return within && !taken.some((other) => meet(box, other));
    });
    const label = free ?? belowAll({ key, name, x, y }, found, frame);
    found.push(label);
    taken.push(boxOf(label));
  }
  return found;
}

/** The place of a name that has none: under the lowest one so far. */
function belowAll(
  { key, name, x, y }: Named,
  found: readonly Label[],
  frame: { left: number; right: number },
): Label {
  const width = name.length * LETTER;
  const fits = x + BESIDE + width <= frame.right;
  const lowest = Math.max(Number.NEGATIVE_INFINITY, ...found.map((label) => label.y));
  return {
    key,
    name,
    x: fits ? x + BESIDE : Math.max(x - BESIDE, frame.left + width),
    y: Math.max(y - 9, lowest + LINE),
    anchor: fits ? "start" : "end",
  };
}
