import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { readyz } from "@/lib/client/sdk.gen";
import type { Ready } from "@/lib/client/types.gen";
import { lazily } from "@/lib/ui/lazily";

const ServerAlert = lazily(() => import("./server-alert").then((part) => part.ServerAlert));
const LOOK = 60_000;

function isReady(told: unknown): told is Ready {
  return typeof told === "object" && told !== null && "reasons" in told && "warnings" in told;
}

/** What the server says of itself: what does not work, and what will not if nothing is done. */
function useServerNotes(): readonly string[] {
  const query = useQuery({
    queryKey: ["readyz"],
    queryFn: async ({ signal }) => {
      const { data, error } = await readyz({ signal }); // 503 is an answer, too
      const told: unknown = data ?? error;
      return isReady(told) ? [...told.reasons, ...told.warnings] : [];
    },
    refetchInterval: LOOK,
    retry: false,
  });
  return query.data ?? [];
}

export function ServerNote() {
  const notes = useServerNotes();
  if (notes.length === 0) return null;
  return (
    <Suspense>
      <ServerAlert notes={notes} />
    </Suspense>
  );
}
