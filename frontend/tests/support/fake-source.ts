import type { Source } from "@/lib/events/event-stream";

/** Stands in for the browser's EventSource, which jsdom lacks. */
export class FakeSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  private readonly kinds = new Map<string, (event: MessageEvent<string>) => void>();

  constructor(readonly url: string) {}

  addEventListener(kind: string, listener: (event: MessageEvent<string>) => void): void {
    this.kinds.set(kind, listener);
  }

  close(): void {
    this.readyState = 2;
  }

  opens(): void {
    this.readyState = 1;
    this.onopen?.(new Event("open"));
  }

  breaks(closed: boolean): void {
    this.readyState = closed ? 2 : 0;
    this.onerror?.(new Event("error"));
  }

  sends(kind: string, data: object, lastEventId: string): void {
    this.kinds.get(kind)?.(new MessageEvent(kind, { data: JSON.stringify(data), lastEventId }));
  }
}
