import { QUIET, type Source } from "./event-stream";
import { EVENT_KINDS } from "./stream-event";

/** What a tab tells the hub: what it listens to and after which position, that it is there, that it leaves. */
export type FromTab = { type: "want"; query: string; after: string } | { type: "here" } | { type: "bye" };

/** What the hub tells its tabs. */
export type ToTab =
  | { type: "open" }
  | { type: "error"; closed: boolean }
  | { type: "event"; kind: string; data: string; id: string };

export interface Tab {
  postMessage(message: ToTab): void;
}

/** A tab says every 30 s that it is there, or every minute where the browser slows it down; ms. */
const GONE = 180_000;
const GATHER = 20; // ms in which changes of several tabs make one connection
/** A connection that has not opened in so long, ms, may hang: a tab that wants one then gets another one. */
const HANGING = 1000;
/** What a tab has missed is replayed, for all tabs, if it is at most so many events; more of them, and it fetches all again. */
const REPLAYED = 500;
/** A server process knows a position that another one has told after 2 s at most, and a heartbeat comes every 5 s; ms. */
const TOLD = 15_000;

interface Wanted {
  readonly query: string;
  seenAt: number;
}

/** A position that a tab knows and the hub does not: of a page sent just now, or of a server before it was restored. */
interface Ahead {
  readonly of: number;
  readonly since: number;
}

/** The lower one of two positions; empty: none. */
const earlier = (one: string, other: string) =>
  one === "" || (other !== "" && Number(other) < Number(one)) ? other : one;

/** One event stream for all tabs of a browser, of what any of them wants: HTTP/1.1 allows six connections in all. */
export class StreamHub {
  private readonly tabs = new Map<Tab, Wanted>();
  private readonly ahead = new WeakMap<Tab, Ahead>();
  private source: Source | undefined;
  private opened = false;
  private query: string | undefined;
  private position = "";
  /** After which position the next connection begins, if that is not the last one seen: a tab may lack what came since. */
  private from = "";
  private heardAt = 0;
  /** A tab has given up what was not open yet, or lacks what was sent before it came. */
  private anew = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly base: string,
    private readonly open: (url: string) => Source,
  ) {}

  receive(tab: Tab, message: FromTab): void {
    if (message.type === "want") this.want(tab, message.query, message.after);
    else if (message.type === "bye") this.leave(tab);
    else this.here(tab);
  }

  private want(tab: Tab, query: string, after: string): void {
    this.tabs.set(tab, { query, seenAt: Date.now() });
    this.catchUp(tab, after);
    const same = this.union() === this.query;
    if (this.opened && same && !this.anew && !this.silent()) {
      tab.postMessage({ type: "open" });
      return;
    }
    // what it wants from now on may happen before it is asked for, and be followed by what others want
    if (!same) this.from = earlier(this.from, this.position);
    this.anew ||= !this.opened && Date.now() - this.heardAt >= HANGING;
    this.update();
  }

  /** What a tab has read includes all up to a position, and may lack what was sent to other tabs since. */
  private catchUp(tab: Tab, after: string): void {
    if (after === "") return; // it will fetch all again by itself
    const missed = Number(this.position) - Number(after);
    if (this.position === "") {
      this.position = after;
      this.anew ||= this.source !== undefined; // that begins nobody knows where
    } else if (missed > REPLAYED || (missed > 0 && !this.opened)) {
      // or what answers next may be restored, and say reset to the others if it is asked for what they have seen
      tab.postMessage({ type: "event", kind: "reset", data: "{}", id: this.position });
    } else if (missed > 0) {
      this.from = earlier(this.from, after);
      this.anew = true;
    } else if (missed < 0) {
      this.ahead.set(tab, { of: Number(after), since: Date.now() });
    }
  }

  /** Have those fetch all again whose position the server does not come to: it was restored, and counts from before. */
  private comeTo(position: string): void {
    for (const tab of this.tabs.keys()) {
      const ahead = this.ahead.get(tab);
      if (!ahead) continue;
      const restored = Number(position) < ahead.of;
      if (restored && Date.now() - ahead.since < TOLD) continue;
      this.ahead.delete(tab);
      if (restored) tab.postMessage({ type: "event", kind: "reset", data: "{}", id: position });
    }
  }

  private leave(tab: Tab): void {
    this.tabs.delete(tab);
    this.update();
  }

  private here(tab: Tab): void {
    const now = Date.now();
    const wanted = this.tabs.get(tab);
    if (wanted) wanted.seenAt = now;
    else tab.postMessage({ type: "error", closed: true }); // taken for gone: it comes anew
    for (const [other, { seenAt }] of this.tabs) {
      if (now - seenAt > GONE) this.leave(other);
    }
  }

  /** What all tabs want: everything, or the parameters of all of them. */
  private union(): string {
    const queries = [...this.tabs.values()].map(({ query }) => query);
    if (queries.includes("")) return "";
    const all = new Set(queries.flatMap((query) => query.split("&")));
    return [...all].sort().join("&");
  }

  private silent(): boolean {
    return Date.now() - this.heardAt >= QUIET;
  }

  private broken(): boolean {
    return !this.source || this.source.readyState === 2 || this.silent() || this.anew;
  }

  private update(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.tabs.size === 0) this.close();
      else if (this.broken() || this.union() !== this.query) this.connect(this.union());
    }, GATHER);
  }

  private close(): void {
    this.source?.close();
    this.source = undefined;
    this.opened = false;
    this.anew = false;
    this.from = "";
    this.query = undefined;
  }

  private connect(query: string): void {
    this.position = this.from || this.position;
    this.close();
    this.query = query;
    this.heardAt = Date.now();
    const after = this.position ? `after=${this.position}` : "";
    const parameters = [query, after].filter(Boolean).join("&");
    const source = this.open(parameters ? `${this.base}?${parameters}` : this.base);
    this.source = source;
    source.onopen = () => {
      this.heardAt = Date.now();
      this.opened = true;
      this.tell({ type: "open" });
    };
    source.onerror = () => {
      this.opened = false;
      this.tell({ type: "error", closed: source.readyState === 2 });
    };
    for (const kind of [...EVENT_KINDS, "heartbeat"]) {
      source.addEventListener(kind, ({ data, lastEventId: id }) => {
        this.heardAt = Date.now();
        this.position = id || this.position;
        this.tell({ type: "event", kind, data, id });
        this.comeTo(this.position);
      });
    }
  }

  private tell(message: ToTab): void {
    for (const tab of this.tabs.keys()) tab.postMessage(message);
  }
}
