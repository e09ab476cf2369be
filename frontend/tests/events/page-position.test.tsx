import { expect, it } from "vitest";
import { pagePosition } from "@/lib/events/page-position";

it.each([
  { told: '<meta name="hooke-events" content="1207" />', position: "1207" },
  { told: '<meta name="hooke-events" content="0" />', position: "0" }, // of a new server
  { told: '<meta name="hooke-events" content="12 OR 1" />', position: "" },
  { told: '<meta name="viewport" content="7" />', position: "" }, // before somebody has signed in
])("a page with $told begins after “$position”", ({ told, position }) => {
  const page = new DOMParser().parseFromString(`<!doctype html><head>${told}</head>`, "text/html");
  expect(pagePosition(page)).toBe(position);
});
