import type { MemberView, UserView } from "@/lib/client/types.gen";

/** After how long a project deletes what has ended, in words; `site`: what the server was started with. */
export function keptWords(keepRuns: string, site = "never"): string {
  if (keepRuns === "site") return `${site === "never" ? site : `after ${site}`} (server default)`;
  return keepRuns === "never" ? "never" : `after ${keepRuns}`;
}

/** The users who are not members yet, by name. */
export function others(users: readonly UserView[], members: readonly MemberView[]): string[] {
  const known = new Set(members.map(({ user }) => user));
  return users.filter(({ name, disabled }) => !disabled && !known.has(name)).map(({ name }) => name);
}
