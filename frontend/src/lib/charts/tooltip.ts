import type { ChartCursor } from "./chart-cursor";
import styles from "./line-chart.module.css";
import type uPlot from "./plot-type";

export interface TooltipRow {
  readonly label: string;
  readonly color: string;
  /** Index of the series in uPlot's data. */
  readonly column: number;
  /** What stands behind the value at an x. */
  readonly detail: (x: number) => string;
}

/** The x of a point that the pointer is at; undefined: it is elsewhere. */
function pointed({ cursor, data }: uPlot): number | undefined {
  const { idx, left } = cursor;
  return idx === null || idx === undefined || left === undefined || left < 0 ? undefined : data[0][idx];
}

/** Tells where the pointer is to what shows the values there. */
export function tellsCursor(cursor: ChartCursor): uPlot.Plugin {
  const tell = (plot: uPlot) => cursor.move(pointed(plot));
  return { hooks: { setCursor: tell, setData: tell, destroy: () => cursor.move(undefined) } };
}

/** A reading of every curve at the pointer, written straight into the DOM: no render per mouse move. */
export function tooltip(
  rows: readonly TooltipRow[],
  formatX: (value: number) => string,
  formatY: (value: number) => string,
): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = styles.tooltip ?? "";
  box.hidden = true;

  function write(plot: uPlot): void {
    const x = pointed(plot);
    if (x === undefined || plot.cursor.left === undefined) {
      box.hidden = true;
      return;
    }
    box.replaceChildren(line(formatX(x), undefined, styles.tooltipHead));
    const told = new Set<string>();
    for (const row of rows) {
      const index = plot.cursor.idxs?.[row.column];
      const value = index === null || index === undefined ? null : plot.data[row.column]?.[index];
      if (value === null || value === undefined || told.has(row.label)) continue;
      told.add(row.label); // a curve and its thin continuation meet in one point
      const at = plot.data[0][index ?? 0];
      box.append(
        line(row.label, { row, text: formatY(value), detail: at === undefined ? "" : row.detail(at) }),
      );
    }
    place(plot, plot.cursor.left);
  }

  function place(plot: uPlot, left: number): void {
    box.hidden = false;
    const width = plot.over.clientWidth;
    const right = left > width / 2;
    box.style.left = right ? "auto" : `${left + 14}px`;
    box.style.right = right ? `${width - left + 14}px` : "auto";
  }

  return {
    hooks: {
      init: (plot) => plot.over.append(box),
      setCursor: write,
      setData: write,
    },
  };
}

function line(
  label: string,
  value?: { row: TooltipRow; text: string; detail: string },
  className?: string,
): HTMLElement {
  const element = document.createElement("div");
  element.className = className ?? styles.tooltipRow ?? "";
  if (value) {
    const key = document.createElement("i");
    key.style.background = value.row.color;
    element.append(key);
  }
  const name = document.createElement("span");
  name.textContent = label;
  element.append(name);
  if (value) {
    const figure = document.createElement("b");
    figure.textContent = value.text;
    element.append(figure);
    if (value.detail) {
      const detail = document.createElement("small");
      detail.textContent = value.detail;
      element.append(detail);
    }
  }
  return element;
}
