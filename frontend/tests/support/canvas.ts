/**
 * A canvas that writes down what is drawn on it: jsdom has none. Paths are lists of points in canvas pixels, so a
 * test can compute by itself where a curve should pass.
 */
import { vi } from "vitest";

export type Point = readonly [number, number];

/** One stroke, fill or text, in the order of drawing. */
export interface Mark {
  readonly kind: "stroke" | "fill" | "text";
  readonly style: string;
  readonly dash: readonly number[];
  readonly points: readonly Point[];
  readonly text: string;
  /** The path inside which alone it can be seen, where there is one. */
  readonly clip: readonly Point[];
}

class RecordedPath {
  readonly points: Point[];
  constructor(other?: RecordedPath) {
    this.points = other ? [...other.points] : [];
  }
  moveTo(x: number, y: number): void {
    this.points.push([x, y]);
  }
  lineTo(x: number, y: number): void {
    this.points.push([x, y]);
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.points.push([x, y], [x + width, y + height]);
  }
  addPath(other: RecordedPath): void {
    this.points.push(...other.points);
  }
  closePath(): void {}
}

class Recorder {
  marks: Mark[] = [];
  strokeStyle = "";
  fillStyle = "";
  font = "";
  lineWidth = 1;
  globalAlpha = 1;
  textAlign = "start";
  textBaseline = "alphabetic";
  lineJoin = "miter";
  lineCap = "butt";
  lineDashOffset = 0;
  private dash: number[] = [];
  private clipped: readonly Point[] = [];
  private saved: (() => void)[] = [];
  private path = new RecordedPath();

  constructor(readonly canvas: HTMLCanvasElement) {}

  beginPath(): void {
    this.path = new RecordedPath();
  }
  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }
  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }
  arc(x: number, y: number): void {
    this.path.moveTo(x, y);
  }
  setLineDash(dash: number[]): void {
    this.dash = [...dash];
  }
  stroke(path: RecordedPath = this.path): void {
    this.mark("stroke", this.strokeStyle, path.points);
  }
  fill(path: RecordedPath = this.path): void {
    this.mark("fill", this.fillStyle, path.points);
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    const corners: readonly Point[] = [
      [x, y],
      [x + width, y + height],
    ];
    this.mark("fill", this.fillStyle, corners);
  }
  strokeText(): void {} // the edge of a text that is filled as well
  fillText(text: string, x: number, y: number): void {
    this.mark("text", this.fillStyle, [[x, y]], text);
  }
  measureText(text: string): { width: number } {
    return { width: 6 * text.length };
  }
  /** uPlot clears before it draws: what was there is gone. */
  clearRect(): void {
    this.marks = [];
  }
  save(): void {
    const { clipped, dash, strokeStyle, fillStyle } = this;
    this.saved.push(() => Object.assign(this, { clipped, dash, strokeStyle, fillStyle }));
  }
  restore(): void {
    this.saved.pop()?.();
  }
  clip(path: RecordedPath = this.path): void {
    this.clipped = path.points;
  }
  rect(): void {}
  setTransform(): void {}
  translate(): void {}
  rotate(): void {}

  private mark(kind: Mark["kind"], style: string, points: readonly Point[], text = ""): void {
    this.marks.push({ kind, style, dash: this.dash, points: [...points], text, clip: this.clipped });
  }
}

const recorders = new WeakMap<HTMLCanvasElement, Recorder>();

export function installCanvas(): void {
  vi.stubGlobal("Path2D", RecordedPath);
  const context = function (this: HTMLCanvasElement) {
    const recorder = recorders.get(this) ?? new Recorder(this);
    recorders.set(this, recorder);
    return recorder;
  };
  Object.defineProperty(HTMLCanvasElement.prototype, "getContext", { configurable: true, value: context });
}

/** What stands on the canvas inside an element. */
export function drawnIn(element: Element): readonly Mark[] {
  const canvas = element.querySelector("canvas");
  return (canvas && recorders.get(canvas)?.marks) ?? [];
}
