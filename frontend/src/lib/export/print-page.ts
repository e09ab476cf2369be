/** How often it is looked whether a page is there, ms, and how often at most. */
const EACH = 100;
const LOOKS = 600;

/**
 * Opens a page of this server in a tab of its own, and the browser's print dialog over it, which saves a PDF as well.
 * Returns whether the browser let the tab be opened.
 */
export function printPage(address: string): boolean {
  const tab = window.open(address, "_blank");
  if (!tab) return false;
  let looks = 0;
  const look = setInterval(() => {
    looks += 1;
    if (tab.closed || looks > LOOKS) {
      clearInterval(look);
    } else if (isThere(tab)) {
      clearInterval(look);
      tab.print(); // the page itself has no scripts
    }
  }, EACH);
  return true;
}

/** A tab begins with an empty page. */
function isThere(tab: Window): boolean {
  return tab.location.href !== "about:blank" && tab.document.readyState === "complete";
}
