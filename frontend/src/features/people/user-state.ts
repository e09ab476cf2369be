import type { UserView } from "@/lib/client/types.gen";

/** Whether a user can sign in: tone among those of the badges, and in words. */
export function userState(user: UserView, now: number): { tone: "good" | "warn" | "off"; words: string } {
  if (user.disabled) return { tone: "off", words: "disabled" };
  if (user.has_password || user.linked) return { tone: "good", words: "active" };
  const open = user.invite_until !== null && Date.parse(user.invite_until) > now;
  return { tone: "warn", words: open ? "invited" : "invitation expired" };
}
