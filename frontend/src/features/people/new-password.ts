/** Characters of a password, as the server wants them. */
export const LEAST = 12;

/** What keeps a new password from being accepted here; undefined: nothing. The server decides. */
export function fault(password: string, repeated: string): string | undefined {
  if (password.length < LEAST) return `At least ${LEAST} characters`;
  if (repeated !== "" && repeated !== password) return "The two differ";
  return undefined;
}

/** Whether a new password may be sent. */
export function complete(password: string, repeated: string): boolean {
  return fault(password, repeated) === undefined && repeated === password;
}
