/** How far the events were when the server sent this page: it tells those who have signed in. Empty: it did not. */
export function pagePosition(page: Document): string {
  const told = page.querySelector<HTMLMetaElement>('meta[name="hooke-events"]')?.content ?? "";
  return /^\d{1,15}$/.test(told) ? told : "";
}
