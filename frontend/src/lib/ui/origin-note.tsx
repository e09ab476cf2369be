import type { Origin } from "@/lib/client/types.gen";
import { formatMoment } from "@/lib/format/time";

/** Where an imported experiment was made; nothing for one that was submitted here. */
export function OriginNote({ origin }: { origin?: Origin | null }) {
  if (!origin) return null;
  const { server, number, user, hooke, exported_at, imported_at } = origin;
  const more = `Submitted there by ${user}. Exported by Hooke ${hooke} on ${formatMoment(exported_at)}, imported on ${formatMoment(imported_at)}. Its runs cannot be retried here.`;
  return (
    <span title={more} data-testid="origin">
      imported from {server} #{number}
    </span>
  );
}
