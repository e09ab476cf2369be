import type { View } from "./hands";
import type uPlot from "./plot-type";

/** Movement from which on a touch is no tap, px. */
const DRAG = 8;

type Plot = Pick<uPlot, "over" | "setSelect" | "setCursor">;

/**
 * Where all is in view, a finger that moves sideways marks the part that is zoomed to, as a mouse does. Up and down
 * scrolls the page: the browser then takes the pointer away. The function that is returned ends it.
 */
export function touchZoom(plot: Plot, { zoom }: Pick<View, "zoom">): () => void {
  const { over } = plot;
  let begun: number | undefined;
  let marked: readonly [number, number] | undefined;
  let reached = 0;
  const leftOf = ({ clientX }: PointerEvent) => {
    const box = over.getBoundingClientRect();
    return Math.min(Math.max(0, clientX - box.left), over.clientWidth);
  };
  const mark = (heard: boolean) => {
    const [left, right] = marked ?? [0, 0];
    plot.setSelect(
      { left, width: right - left, top: 0, height: right > left ? over.clientHeight : 0 },
      heard,
    );
    if (!heard) plot.setCursor({ left: reached, top: 0 }); // draws what is marked
  };
  const begin = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    if (marked) leave(); // a second finger is for the page
    begun = event.isPrimary && !zoom() ? leftOf(event) : undefined;
  };
  const move = (event: PointerEvent) => {
    if (begun === undefined || event.pointerType !== "touch") return;
    const left = leftOf(event);
    if (!marked && Math.abs(left - begun) < DRAG) return;
    marked = [Math.min(begun, left), Math.max(begun, left)];
    reached = left;
    mark(false);
  };
  const end = (event: PointerEvent) => {
    if (begun === undefined || event.pointerType !== "touch") return;
    begun = undefined;
    if (marked) mark(true);
    marked = undefined;
  };
  const leave = () => {
    begun = undefined;
    if (!marked) return;
    marked = undefined;
    mark(false);
  };
  over.addEventListener("pointerdown", begin);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", end);
  over.addEventListener("pointercancel", leave);
  return () => {
    over.removeEventListener("pointerdown", begin);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", end);
    over.removeEventListener("pointercancel", leave);
  };
}
