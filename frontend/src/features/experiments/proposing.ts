/** What the search field proposes, and how that is taken: fetched together. */
export { accept, complete } from "./completion";
export { FilterProposals, optionId } from "./filter-proposals";
