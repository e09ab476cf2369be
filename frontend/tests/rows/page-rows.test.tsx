import { act, fireEvent, screen } from "@testing-library/react";
import { useCallback, useRef } from "react";
import { beforeEach, describe, expect, it } from "vitest";
import { DrawAll } from "@/lib/rows/draw-all";
import { usePageRows } from "@/lib/rows/use-page-rows";
import { show } from "../support/app";
import { rowsAre } from "../support/layout";

let prepare: (() => () => void) | undefined;

function List({ count }: { count: number }) {
  const host = useRef<HTMLUListElement>(null);
  const keyOf = useCallback((index: number) => `key ${index}`, []);
  const rows = usePageRows(host, { count, estimate: 20, keyOf });
  prepare = rows.prepare;
  return (
    <>
      <DrawAll rows={rows} count={count} what="rows" />
      <ul ref={host} style={{ paddingBottom: rows.after }}>
        {rows.rows.map(({ index, gap }) => (
          <li key={index} ref={rows.measure} data-index={index} style={{ marginTop: gap }}>
            <button type="button">row {index}</button>
          </li>
        ))}
      </ul>
    </>
  );
}

const drawn = () => screen.queryAllByRole("listitem").map((row) => Number(row.dataset.index));

async function scrollTo(y: number) {
  Object.defineProperty(window, "scrollY", { configurable: true, value: y });
  fireEvent.scroll(window);
  await act(() => new Promise((done) => setTimeout(done, 200))); // until scrolling counts as ended
}

beforeEach(() => {
  rowsAre(20);
  Object.defineProperty(window, "scrollY", { configurable: true, value: 0 });
});

describe("a long list on the page", () => {
  it("draws the rows in the window and some around it, wherever one scrolls to", async () => {
    show(<List count={5000} />);
    const first = drawn();
    expect(first.slice(0, 3)).toEqual([0, 1, 2]);
    expect(first.length).toBeGreaterThan(window.innerHeight / 20);
    expect(first.length).toBeLessThan(120);
    await scrollTo(50_000);
    const then = drawn();
    expect(then).toContain(2500);
    expect(then[0]).toBeGreaterThan(2400);
    expect(then.length).toBeLessThan(120);
  });

  it("keeps the row with the focus when it is out of view, and lets it go afterwards", async () => {
    show(<List count={5000} />);
    const button = screen.getByRole("button", { name: "row 3" });
    act(() => button.focus());
    await scrollTo(50_000);
    expect(drawn()[0]).toBe(3);
    expect(button).toHaveFocus();
    act(() => button.blur());
    expect(drawn()).not.toContain(3);
  });

  it("is drawn whole on paper, on request, and while it is read for a file", async () => {
    const { user } = show(<List count={1000} />);
    const few = drawn().length;
    fireEvent(window, new Event("beforeprint"));
    expect(drawn()).toHaveLength(1000);
    fireEvent(window, new Event("afterprint"));
    expect(drawn()).toHaveLength(few);
    let end: (() => void) | undefined;
    act(() => {
      end = prepare?.();
    });
    expect(drawn()).toHaveLength(1000);
    act(() => end?.());
    expect(drawn()).toHaveLength(few);
    await user.click(screen.getByRole("button", { name: "Draw all 1,000 rows" }));
    expect(drawn()).toHaveLength(1000);
    await user.click(screen.getByRole("button", { name: "Draw visible rows only" }));
    expect(drawn()).toHaveLength(few);
  });
});

it("a list of 200 is drawn whole, without a choice", () => {
  show(<List count={200} />);
  expect(drawn()).toHaveLength(200);
  expect(screen.queryByTestId("draw-all")).toBeNull();
});
