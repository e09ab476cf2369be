import type { Me, Role } from "@/lib/client/types.gen";

/** The roles in their order: each includes those before it. */
export const ROLES = ["viewer", "researcher", "operator", "admin"] as const satisfies readonly Role[];

/** What each role may do, in words. */
export const MEANINGS: Record<Role, string> = {
  viewer: "reads everything",
  researcher: "submits experiments and changes their own",
  operator: "manages clusters and changes the experiments of others",
  admin: "manages users and reads the audit trail",
};

/** Whether a role is at least another one. */
export function includes(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** The highest role that somebody has in any project. */
export function highest(me: Me): Role {
  const found = [me.role, ...Object.values(me.projects)];
  return found.reduce((most, role) => (includes(role, most) ? role : most));
}

/**
 * Why somebody may not do what needs a role; undefined: they may. `of`: the user whose experiment it is, where only
 * this user and operators may. While it is not known who this is, everything seems allowed: the server decides. It
 * also decides in which project: what is done with experiments (`inProject`) is offered to whoever may in any.
 */
export function refusal(
  me: Me | undefined,
  least: Role,
  of?: string,
  inProject = least === "researcher",
): string | undefined {
  if (!me) return undefined;
  const role = inProject ? highest(me) : me.role;
  if (!includes(role, least)) return `This needs the role ${least}; yours is ${role}.`;
  if (of !== undefined && of !== me.name && !includes(role, "operator"))
    return `This belongs to ${of}: only ${of} or an operator can change it.`;
  return undefined;
}

/** Where to go after the sign-in: an address of this server. Browsers leave out tabs and ends of lines. */
export function nextPage(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])[^\t\n\r]*$/.test(next) ? next : "/";
}
