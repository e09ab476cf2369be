/** The place of the pointer on a chart: who shows values there is told, and no chart is drawn anew for it. */
export class ChartCursor {
  private readonly listeners = new Set<() => void>();
  private x: number | undefined;

  /** For `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** An x of the chart; undefined: the pointer is elsewhere. */
  readonly at = (): number | undefined => this.x;

  move(x: number | undefined): void {
    if (x === this.x) return;
    this.x = x;
    for (const listener of this.listeners) listener();
  }
}
