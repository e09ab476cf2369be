import type { TokenView } from "@/lib/client/types.gen";
import { formatAge, formatMoment } from "@/lib/format/time";

/** Whether a token is valid, in words. */
export function tokenState(token: TokenView, now: number): { valid: boolean; words: string } {
  if (token.revoked_at) return { valid: false, words: `revoked ${formatAge(token.revoked_at, now)}` };
  if (token.expires_at === null) return { valid: true, words: "until it is revoked" };
  if (Date.parse(token.expires_at) <= now) return { valid: false, words: "expired" };
  return { valid: true, words: `until ${formatMoment(token.expires_at).slice(0, 10)}` };
}

/** Whose token it is. */
export function tokenOwner(token: TokenView): string {
  return token.user ?? (token.scope.startsWith("agent:") ? "an agent" : "a machine");
}
