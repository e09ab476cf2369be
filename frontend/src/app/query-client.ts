import { QueryCache, QueryClient } from "@tanstack/react-query";
import { statusOf, worthRetrying } from "@/lib/api/problem";
import { client } from "@/lib/client/client.gen";
import { signedOut } from "./session";

client.setConfig({ baseUrl: "" }); // the server that served this page

/** What every query does: retry what may pass, keep what the stream has not called stale, notice a 401. */
export function makeQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (statusOf(error) === 401) signedOut();
      },
      onSuccess: () => signedOut(false),
    }),
    defaultOptions: {
      queries: {
        networkMode: "always", // without a network, the server may still be on this computer
        retry: worthRetrying,
        retryDelay: (failures) => Math.min(8000, 500 * 2 ** failures),
        staleTime: 5000, // the event stream says when something changed
        refetchOnWindowFocus: true,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
}
