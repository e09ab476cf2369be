import type { SavedView } from "@/lib/client/types.gen";

/** Names may be this long. */
export const LONGEST_NAME = 80;

const PAGES = new Map([
  ["/", "Experiments"],
  ["/compare", "Compare"],
  ["/leaderboard", "Leaderboard"],
  ["/runs", "Runs"],
]);

/** The page of a view in a word, which tells views of several pages apart. */
export function pageOf(path: string): string {
  return PAGES.get(pathnameOf(path)) ?? "Experiment";
}

/** The part of an address before its query. */
export function pathnameOf(path: string): string {
  return path.split("?", 1)[0] ?? "";
}

/** Views of the page that is shown, and those of others. */
export function divided(views: readonly SavedView[], here: string) {
  const own = (view: SavedView) => pathnameOf(view.path) === pathnameOf(here);
  return { here: views.filter(own), elsewhere: views.filter((view) => !own(view)) };
}

/** The view that has this name, whatever stands around it. */
export function calledSo(views: readonly SavedView[], name: string): SavedView | undefined {
  return views.find((view) => view.name === name.trim());
}

/** What somebody else opens to see the same. */
export function linkTo(path: string): string {
  return `${window.location.origin}${path}`;
}
