import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { NoteView } from "@/lib/keeping/note-view";
import { show } from "../support/app";

it("a note is drawn, and its HTML is only text", () => {
  const evil = '<img src=x onerror="alert(1)"> [click](javascript:alert(1)) <script>alert(2)</script>';
  show(<NoteView text={`# Title\n\n**strong** and [a link](https://example.org)\n\n- ${evil}`} />);
  const note = screen.getByTestId("note");
  expect(screen.getByRole("heading", { name: "Title" })).toBeVisible();
  expect(note.querySelector("strong")).toHaveTextContent("strong");
  const links = [...note.querySelectorAll("a")];
  expect(links.map((each) => each.getAttribute("href"))).toEqual(["https://example.org/"]);
  expect(links[0]).toHaveAttribute("rel", "noreferrer noopener");
  expect(note.querySelector("img, script")).toBeNull();
  expect(note.querySelector("li")).toHaveTextContent(evil);
});
