/** Where to go after the sign-in, and why the provider did not sign the person in. */
export interface SignInSearch {
  next?: string;
  problem?: string;
}

/** Why an account was not linked. */
export type AccountSearch = Pick<SignInSearch, "problem">;

/** Whose entries of the audit trail are listed, and about what. */
export interface AdministrationSearch {
  actor?: string;
  subject?: string;
}

export function administrationSearch({ actor, subject }: Record<string, unknown>): AdministrationSearch {
  return { actor: text(actor) || undefined, subject: text(subject) || undefined };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function signInSearch({ next, problem }: Record<string, unknown>): SignInSearch {
  return { next: text(next), problem: text(problem) };
}

export function accountSearch({ problem }: Record<string, unknown>): AccountSearch {
  return { problem: text(problem) };
}
