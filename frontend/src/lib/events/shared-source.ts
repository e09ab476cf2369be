import type { Source } from "./event-stream";
import type { FromTab, ToTab } from "./stream-hub";

const HERE = 30_000; // ms between two signs of a tab

/** The part of a MessagePort that a source uses. */
export interface Port {
  onmessage: ((event: MessageEvent<ToTab>) => void) | null;
  postMessage(message: FromTab): void;
}

/** A tab's view of the stream that all tabs of the browser share. */
export class SharedSource implements Source {
  readyState = 0;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  private readonly listeners = new Map<string, (event: MessageEvent<string>) => void>();
  private readonly here: ReturnType<typeof setInterval>;

  constructor(
    private readonly port: Port,
    url: string,
  ) {
    const parameters = new URLSearchParams(url.split("?")[1] ?? "");
    const after = parameters.get("after") ?? "";
    parameters.delete("after");
    port.onmessage = ({ data }) => this.receive(data);
    port.postMessage({ type: "want", query: parameters.toString(), after });
    this.here = setInterval(() => port.postMessage({ type: "here" }), HERE);
  }

  addEventListener(kind: string, listener: (event: MessageEvent<string>) => void): void {
    this.listeners.set(kind, listener);
  }

  close(): void {
    if (this.readyState === 2) return;
    this.readyState = 2;
    clearInterval(this.here);
    this.port.onmessage = null;
    this.port.postMessage({ type: "bye" });
  }

  private receive(message: ToTab): void {
    if (message.type === "open") {
      this.readyState = 1;
      this.onopen?.(new Event("open"));
    } else if (message.type === "error") {
      if (message.closed) this.close();
      else this.readyState = 0;
      this.onerror?.(new Event("error"));
    } else {
      const { kind, data, id } = message;
      this.listeners.get(kind)?.(new MessageEvent(kind, { data, lastEventId: id }));
    }
  }
}
