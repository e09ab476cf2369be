import { act } from "@testing-library/react";

/** What was copied; answers that arrive while it is read may update the page. */
export function copied(): Promise<string> {
  return act(() => navigator.clipboard.readText());
}
