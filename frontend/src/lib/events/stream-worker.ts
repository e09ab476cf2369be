/// <reference lib="webworker" />
import { type FromTab, StreamHub } from "./stream-hub";

declare const self: SharedWorkerGlobalScope;

const hub = new StreamHub("/api/v1/events", (url) => new EventSource(url));

self.onconnect = ({ ports: [port] }) => {
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<FromTab>) => hub.receive(port, data);
};
