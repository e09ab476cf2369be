import { MantineProvider } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import type { EventStream } from "@/lib/events/event-stream";
import { StreamContext } from "@/lib/events/use-stream";
import { resolver, theme } from "@/lib/theme/theme";
import type { AppRouter } from "./router";

interface AppProps {
  router: AppRouter;
  queries: QueryClient;
  stream: EventStream;
}

/** The whole dashboard, over what it reads from: its address, its queries, its event stream. */
export function App({ router, queries, stream }: AppProps) {
  return (
    // all variables are made here, and not once more in a style sheet that would be loaded for the few that differ
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolver}
      defaultColorScheme="auto"
      deduplicateCssVariables={false}
    >
      <QueryClientProvider client={queries}>
        <StreamContext value={stream}>
          <RouterProvider router={router} />
        </StreamContext>
      </QueryClientProvider>
    </MantineProvider>
  );
}
