/** Where to go after the sign-in, and why the provider did not sign the person in. */
export interface SignInSearch {
  next?: string;
  problem?: string;
}

/** Why an account was not linked. */
export type AccountSearch = Pick<SignInSearch, "problem">;

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function signInSearch({ next, problem }: Record<string, unknown>): SignInSearch {
  return { next: text(next), problem: text(problem) };
}

export function accountSearch({ problem }: Record<string, unknown>): AccountSearch {
  return { problem: text(problem) };
}
