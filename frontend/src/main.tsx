import "@mantine/core/styles.css";
import "@/lib/theme/tokens.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "@/app/query-client";
import { router } from "@/app/router";
import { EventStream } from "@/lib/events/event-stream";
import { StreamContext } from "@/lib/events/use-stream";
import { resolver, theme } from "@/lib/theme/theme";

const root = document.getElementById("root");
if (!root) throw new Error("index.html lacks the element #root");

const stream = new EventStream("/api/v1/events", (url) => new EventSource(url));

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={resolver} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <StreamContext value={stream}>
          <RouterProvider router={router} />
        </StreamContext>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
