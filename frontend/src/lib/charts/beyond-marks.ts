import type { Beyond } from "./most-values";
import type { ChartLook } from "./options";
import type uPlot from "./plot-type";

/** Half the width of a mark and its height, px. */
const [HALF, TALL] = [4, 6];

/** Triangles at the upper or lower edge where the values lie that the axis leaves out. */
export function beyondMarks(look: ChartLook, beyond: () => readonly Beyond[]): uPlot.Plugin {
  return {
    hooks: {
      draw: ({ ctx, bbox, valToPos }) => {
        const scale = window.devicePixelRatio;
        const drawn = new Set<string>();
        ctx.save();
        ctx.lineWidth = scale;
        ctx.strokeStyle = look.page;
        for (const { x, above, style } of beyond()) {
          const left = Math.round(valToPos(x, "x", true));
          const color = look.dark ? style.dark : style.light;
          const key = `${Math.round(left / (HALF * scale))} ${above} ${color}`;
          if (drawn.has(key) || left < bbox.left || left > bbox.left + bbox.width) continue;
          drawn.add(key);
          const tip = above ? bbox.top : bbox.top + bbox.height;
          const foot = tip + (above ? TALL : -TALL) * scale;
          ctx.fillStyle = color;
          ctx.beginPath();
          ctx.moveTo(left, tip);
          ctx.lineTo(left + HALF * scale, foot);
          ctx.lineTo(left - HALF * scale, foot);
          ctx.fill();
          ctx.stroke();
        }
        ctx.restore();
      },
    },
  };
}
