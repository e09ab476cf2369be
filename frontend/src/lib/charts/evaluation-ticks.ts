import type { ChartLook } from "./options";
import { placesOn } from "./places";
import type uPlot from "./plot-type";
import type { Evaluations } from "./series";

/** Pixels that an evaluation's tick is high. */
const TICK = 5;

/** Ticks at the foot of a chart where something was evaluated; of several of a colour in one column of pixels, one. */
export function evaluationTicks(look: ChartLook, evaluations: () => readonly Evaluations[]): uPlot.Plugin {
  return {
    hooks: {
      drawClear: (plot) => {
        const { ctx, bbox } = plot;
        const scale = window.devicePixelRatio;
        const foot = bbox.top + bbox.height;
        const first = Math.ceil(bbox.left);
        ctx.save();
        ctx.lineWidth = scale;
        for (const [color, columns] of columnsOf(plot, evaluations(), look.dark)) {
          ctx.strokeStyle = `${color}99`;
          ctx.beginPath();
          for (let i = 0; i < columns.length; i += 1) {
            if (!columns[i]) continue;
            ctx.moveTo(first + i, foot);
            ctx.lineTo(first + i, foot - TICK * scale);
          }
          ctx.stroke();
        }
        ctx.restore();
      },
    },
  };
}

/**
 * The columns of pixels in view, from the first one on, each with whether there is one in it, by colour: many runs of a variant share
 * most of theirs.
 */
function columnsOf(plot: uPlot, evaluations: readonly Evaluations[], dark: boolean) {
  const first = Math.ceil(plot.bbox.left);
  const count = Math.floor(plot.bbox.left + plot.bbox.width) - first + 1;
  const place = placesOn(plot, "x");
  const found = new Map<string, Uint8Array>();
  for (const { x, style } of evaluations) {
    const color = dark ? style.dark : style.light;
    const columns = found.get(color) ?? new Uint8Array(Math.max(0, count));
    found.set(color, columns);
    for (let i = 0; i < x.length; i += 1) {
      const column = Math.round(place(x[i] as number)) - first;
      if (column >= 0 && column < count) columns[column] = 1;
    }
  }
  return found;
}
