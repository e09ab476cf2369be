/** Where to go after the sign-in. */
export interface SignInSearch {
  next?: string;
}

export function signInSearch({ next }: Record<string, unknown>): SignInSearch {
  return { next: typeof next === "string" ? next : undefined };
}
