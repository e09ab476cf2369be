/** Between the beginnings of two questions, ms; and once a server has been away for so long, ms. */
const EACH = 2000;
const SELDOM = 10_000;
const LONG = 600_000;

/** Whether somebody can see the page. */
const inView = () => typeof document === "undefined" || document.visibilityState !== "hidden";

/**
 * Asks a server that has fallen silent whether it answers, until it does: a connection that was begun while it was away may
 * hang for long after it is back. A page that nobody sees asks nothing; it tries again when it is seen.
 */
export class Probe {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private turn = 0;
  private awaySince: number | undefined;

  /** `found` is told that the server answers, and whether it had not answered before. */
  constructor(
    private readonly reachable: () => Promise<boolean>,
    private readonly found: (again: boolean) => void,
    private readonly random: () => number,
  ) {}

  /** Ask in so long, ms, in place of what was asked before. */
  after(delay: number): void {
    this.end();
    this.wait(delay);
  }

  /** Ask no more. */
  end(): void {
    clearTimeout(this.timer);
    this.turn += 1; // what is not answered yet is not told
  }

  /** The server is there. */
  heard(): void {
    this.awaySince = undefined;
  }

  private wait(delay: number): void {
    this.timer = setTimeout(() => void this.ask(), delay);
  }

  private async ask(): Promise<void> {
    if (!inView()) {
      this.wait(SELDOM);
      return;
    }
    const [turn, asked] = [this.turn, Date.now()];
    const there = await this.reachable();
    if (turn !== this.turn) return;
    if (there) {
      const again = this.awaySince !== undefined;
      this.heard();
      this.found(again);
      return;
    }
    this.awaySince ??= asked;
    const each = asked - this.awaySince > LONG ? SELDOM : EACH;
    this.wait(Math.max(0, each * (0.5 + this.random() / 2) - (Date.now() - asked)));
  }
}
