import { answers } from "@/lib/api/answers";
import { backOff } from "./back-off";
import { Probe } from "./probe";
import { EVENT_KINDS, type EventKind, readEvent, type StreamEvent } from "./stream-event";
import { concerns, type Topic } from "./topic";

export type Connection = "connecting" | "live" | "reconnecting" | "offline";
type Listener = (event: StreamEvent) => void;

/** The part of EventSource that the stream uses. */
export interface Source {
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onerror: ((event: Event) => void) | null;
  addEventListener(kind: string, listener: (event: MessageEvent<string>) => void): void;
  close(): void;
}

const CLOSED = 2;
/** Without a sign for so long, ms, a connection is taken for broken: the server sends a heartbeat every 5 s. */
export const SILENCE = 16_000;
/** Without a sign for so long, ms, the server is asked whether it answers: then only the connection is broken. */
export const QUIET = 8000;
/** The same of a connection that does not open; twice as long whenever the server answers and it does not open. */
export const OPENING = 2000;
/** An answer to that comes within so long, ms, or counts as none. */
const ANSWER = 2000;
/** On a page that listens to nothing the stream is opened after so long, ms: any other page subscribes before. */
export const UNASKED = 3000;

/**
 * The one event stream of a tab. Subscriptions are in its URL, so it is opened anew when they change, after the
 * last position seen. A connection that broke resumes by Last-Event-ID (EventSource itself) or, where the server
 * refused or has fallen silent, after a growing delay. `reset` reaches subscribers whenever what they fetched may have gone stale.
 */
export class EventStream {
  private readonly listeners = new Map<Listener, Topic>();
  private readonly watchers = new Set<() => void>();
  private source: Source | undefined;
  private url = "";
  private position = "";
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private pending = false;
  private kept = 0;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private heardAt: number | undefined;
  private state: Connection = "connecting";
  /** Connections in a row that were given up because they did not open, though the server answered. */
  private givenUp = 0;
  private readonly probe: Probe;

  constructor(
    private readonly base: string,
    private readonly open: (url: string) => Source,
    private readonly random: () => number = Math.random,
    private readonly online: () => boolean = () => navigator.onLine !== false,
    private readonly reachable: () => Promise<boolean> = () => answers(ANSWER),
  ) {
    this.probe = new Probe(reachable, (again) => this.answered(again), random);
  }

  /** All that the page reads is newer than this position: what has happened since is replayed, and nothing need be read again. */
  beginAfter(position: string): void {
    this.position ||= position;
  }

  /** Listen; returns what ends it. */
  subscribe(topic: Topic, listener: Listener): () => void {
    this.listeners.set(listener, topic);
    this.renew();
    return () => {
      this.listeners.delete(listener);
      this.renew();
    };
  }

  /** Be connected even if nobody listens, for those who show whether the server answers; returns what ends it. */
  keep(): () => void {
    this.kept += 1;
    const later = setTimeout(() => this.renew(), UNASKED);
    return () => {
      this.kept -= 1;
      clearTimeout(later);
    };
  }

  /** Called at every change of the connection; returns what ends it. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  connection(): Connection {
    return this.state;
  }

  /** When the server last gave a sign, ms since 1970; undefined before the first. */
  lastHeard(): number | undefined {
    return this.heardAt;
  }

  /** The network has changed, or the computer has been woken: try at once instead of after the delay. */
  wake(): void {
    const silent = this.heardAt !== undefined && Date.now() - this.heardAt >= QUIET;
    const well = this.state === "connecting" || this.state === "live";
    if (well && !silent && this.online()) return;
    this.become(this.down());
    this.failures = 0;
    if (this.url !== "") this.connect(this.url);
  }

  close(): void {
    clearTimeout(this.retry);
    clearTimeout(this.silence);
    this.probe.end();
    this.source?.close();
    this.source = undefined;
    this.url = "";
  }

  /** One re-opening for all subscriptions that change in the same turn of the event loop. */
  private renew(): void {
    if (this.pending) return;
    this.pending = true;
    queueMicrotask(() => {
      this.pending = false;
      const wanted = this.subscriptions();
      if (wanted !== undefined && wanted !== this.url) this.connect(wanted);
    });
  }

  /** The query string of all topics; undefined while nobody listens (an old connection then simply stays). */
  private subscriptions(): string | undefined {
    const topics = [...this.listeners.values()];
    if (topics.length === 0) return this.kept > 0 && this.url === "" ? "all" : undefined;
    if (topics.some((topic) => !topic.experiment && !topic.run)) return "all";
    const query = new URLSearchParams();
    for (const id of new Set(topics.flatMap((topic) => topic.experiment ?? [])))
      query.append("experiment", id);
    for (const id of new Set(topics.flatMap((topic) => topic.run ?? []))) query.append("run", id);
    return query.toString();
  }

  /** Where there seems to be no network, the server may be on this computer, or a connection may only seem to live. */
  private connect(subscriptions: string): void {
    this.close();
    this.url = subscriptions;
    if (this.online()) {
      this.begin(subscriptions);
      return;
    }
    this.become("offline");
    void this.reachable().then((there) => {
      if (this.url !== subscriptions || this.source) return;
      if (there) this.begin(subscriptions);
      else this.later(subscriptions);
    });
  }

  private begin(subscriptions: string): void {
    const query = new URLSearchParams(subscriptions === "all" ? "" : subscriptions);
    if (this.position) query.set("after", this.position);
    const source = this.open(query.size > 0 ? `${this.base}?${query}` : this.base);
    this.source = source;
    this.awaitSign(subscriptions, Math.min(SILENCE, OPENING * 2 ** this.givenUp));
    source.onopen = () => {
      this.failures = 0;
      this.givenUp = 0;
      this.heard(subscriptions);
      this.become("live");
      // without a position nothing is replayed, and what was fetched before this moment may lack something
      if (this.position === "") this.tell({ kind: "reset" });
    };
    source.onerror = () => {
      this.become(this.down());
      this.probe.after(OPENING);
      if (source.readyState === CLOSED) this.later(subscriptions);
    };
    for (const kind of EVENT_KINDS) {
      source.addEventListener(kind, (event) => {
        this.heard(subscriptions);
        this.receive(kind, event);
      });
    }
    source.addEventListener("heartbeat", ({ lastEventId }) => {
      this.heard(subscriptions);
      this.position = lastEventId || this.position;
    });
  }

  private heard(subscriptions: string): void {
    this.heardAt = Date.now();
    this.probe.heard();
    this.awaitSign(subscriptions, QUIET);
  }

  /** Where no sign of the server follows, it is asked for one, and in the end the connection is opened anew. */
  private awaitSign(subscriptions: string, quiet: number): void {
    this.probe.after(quiet);
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.become(this.down());
      this.source?.close();
      this.later(subscriptions);
    }, SILENCE);
  }

  /** The server answers, and the connection gives no sign. `again`: it had not answered before. */
  private answered(again: boolean): void {
    const refused = this.source?.readyState === CLOSED;
    if (refused && !again) return; // it answers, and wants no stream: that is tried later
    if (again) [this.failures, this.givenUp] = [0, 0];
    else this.givenUp += 1;
    if (this.state !== "connecting") this.become(this.down());
    this.connect(this.url);
  }

  private receive(kind: EventKind, message: MessageEvent<string>): void {
    if (message.lastEventId) this.position = message.lastEventId;
    const event = readEvent(kind, message.data);
    if (event) this.tell(event);
  }

  private tell(event: StreamEvent): void {
    for (const [listener, topic] of [...this.listeners]) {
      if (concerns(topic, event)) listener(event);
    }
  }

  private later(subscriptions: string): void {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(subscriptions), backOff(this.failures, this.random()));
    this.failures += 1;
  }

  private down(): Connection {
    return this.online() ? "reconnecting" : "offline";
  }

  private become(state: Connection): void {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}
