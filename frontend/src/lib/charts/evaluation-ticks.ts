import type { ChartLook } from "./options";
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
        ctx.save();
        ctx.lineWidth = scale;
        for (const [color, columns] of columnsOf(plot, evaluations(), look.dark)) {
          ctx.strokeStyle = `${color}99`;
          ctx.beginPath();
          for (const left of columns) {
            ctx.moveTo(left, foot);
            ctx.lineTo(left, foot - TICK * scale);
          }
          ctx.stroke();
        }
        ctx.restore();
      },
    },
  };
}

/** The columns of pixels in view in which there is one, by colour: many runs of a variant share most of theirs. */
function columnsOf(plot: uPlot, evaluations: readonly Evaluations[], dark: boolean) {
  const { left: from, width } = plot.bbox;
  const found = new Map<string, Set<number>>();
  for (const { x, style } of evaluations) {
    const color = dark ? style.dark : style.light;
    const columns = found.get(color) ?? new Set<number>();
    found.set(color, columns);
    for (let i = 0; i < x.length; i += 1) {
      const left = Math.round(plot.valToPos(x[i] as number, "x", true));
      if (left >= from && left <= from + width) columns.add(left);
    }
  }
  return found;
}
