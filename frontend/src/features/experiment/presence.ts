/** Whether something is in view: for those who ask when it matters, and for those who are to be told. */
export class Presence {
  /** From when on it is shown, ms since 1970. */
  readonly since = Date.now();
  private readonly listeners = new Set<() => void>();

  constructor(private now: boolean) {}

  readonly is = (): boolean => this.now;

  /** For `useSyncExternalStore`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  set(now: boolean): void {
    if (now === this.now) return;
    this.now = now;
    for (const listener of this.listeners) listener();
  }
}

/** Of what is not looked after. */
export const ALWAYS = new Presence(true);
