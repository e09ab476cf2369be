import { waitFor } from "@testing-library/react";
import { expect } from "vitest";
import type { Operations } from "./operations";
import type { ApiServer } from "./server";

/** Sends an event, and waits until the page asks anew; it gets no answer. */
export async function asksAgain(
  server: ApiServer,
  operation: keyof Operations,
  kind: string,
  data: object,
): Promise<void> {
  await waitFor(() => expect(server.listening()).toBe(1));
  const before = server.askedFor(operation).length;
  server.on(operation, new Promise<never>(() => undefined));
  server.send(kind, data, 20);
  await waitFor(() => expect(server.askedFor(operation).length).toBeGreaterThan(before));
}
