/** Opens the dashboard at an address, over a test's server, as main.tsx does over the real one. */
import { MantineProvider } from "@mantine/core";
import type { QueryClient } from "@tanstack/react-query";
import { createMemoryHistory } from "@tanstack/react-router";
import { act, render, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { EventSource } from "eventsource";
import type { ReactNode } from "react";
import { expect, onTestFinished } from "vitest";
import { App } from "@/app/app";
import { makeQueryClient } from "@/app/query-client";
import { makeRouter } from "@/app/router";
import { signedOut } from "@/app/session";
import { EventStream } from "@/lib/events/event-stream";
import { resolver, theme } from "@/lib/theme/theme";
import type { ApiServer } from "./server";

/** What a person does; no pause between keys, and no style sheet that could take an element from the pointer. */
const person = () => userEvent.setup({ delay: null, pointerEventsCheck: 0 });

/** What the dashboard reads from, where it has begun before it is shown. */
export interface Begun {
  queries: QueryClient;
  stream: EventStream;
}

export function openApp(server: ApiServer, address: string, begun?: Begun) {
  signedOut(false);
  const queries = begun?.queries ?? makeQueryClient();
  const { queries: usual } = queries.getDefaultOptions();
  queries.setDefaultOptions({ queries: { ...usual, retryDelay: 1 } });
  const stream =
    begun?.stream ?? new EventStream(`${server.url}/api/v1/events`, (url) => new EventSource(url));
  const router = makeRouter(createMemoryHistory({ initialEntries: [address] }));
  const view = render(<App router={router} queries={queries} stream={stream} />);
  onTestFinished(() => {
    view.unmount();
    stream.close();
    queries.clear();
  });
  /** Wait until all is there that was asked for. */
  const idle = () => waitFor(() => expect(queries.isFetching()).toBe(0));
  /** Let the event stream through, and wait until the page has asked anew, which it does then, and has its answers. */
  const live = async () => {
    server.letStreams();
    await waitFor(() => expect(stream.connection()).toBe("live"));
    await idle();
  };
  return { user: person(), address: () => router.state.location.href, router, queries, idle, live };
}

/** One component with the theme around it, and nothing else. */
export function show(component: ReactNode) {
  const wrapped = (child: ReactNode) => (
    <MantineProvider theme={theme} cssVariablesResolver={resolver} defaultColorScheme="auto">
      {child}
    </MantineProvider>
  );
  const view = render(wrapped(component));
  return { user: person(), again: (next: ReactNode) => view.rerender(wrapped(next)), unmount: view.unmount };
}

/** Let the browser draw one frame, and what follows from it. */
export const frame = () =>
  act(() => new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done))));
