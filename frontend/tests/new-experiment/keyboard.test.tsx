import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { Toolbar } from "@/lib/ui/toolbar";
import { show } from "../support/app";
import { apiServer, Refusal } from "../support/server";
import { openForm, settled } from "./form";

const server = apiServer();
const focused = () => document.activeElement as HTMLElement;

/** Press Tab until an element with this text has the focus; how often that was. */
async function tabTo(user: Awaited<ReturnType<typeof openForm>>["user"], text: string): Promise<number> {
  for (let stops = 1; stops < 200; stops += 1) {
    await user.tab();
    if (focused().textContent === text) return stops;
  }
  throw new Error(`no stop of the tab key reads ${text}`);
}

it("the keyboard reaches Start past all fields, and what is in its way while it cannot be pressed", async () => {
  const { user } = await openForm(server);
  await settled();
  expect(await tabTo(user, "Go to Start")).toBeLessThan(15); // the frame of the page, and this
  await user.keyboard("{Enter}");
  expect(focused()).toHaveTextContent(/^Start$/);

  const fault = { pointer: "/budget/samples", message: "too few" };
  server.on("POST /experiments/dry-run", new Refusal(422, "Invalid.", [fault]));
  await user.type(screen.getByLabelText(/^Samples/), "1");
  await screen.findByTestId("fault");
  screen.getByRole("button", { name: "Go to Start" }).focus();
  await user.keyboard("{Enter}");
  expect(focused()).toBe(screen.getByTestId("fault"));
});

it("a row of buttons is one stop, and arrows move in it", async () => {
  const { user } = show(
    <>
      <Toolbar label="Variant 1">
        <button type="button">Duplicate</button>
        <button type="button" disabled>
          Move
        </button>
        <button type="button">Remove</button>
      </Toolbar>
      <button type="button">After</button>
    </>,
  );
  const bar = within(screen.getByRole("toolbar", { name: "Variant 1" }));
  await user.tab();
  expect(focused()).toBe(bar.getByText("Duplicate"));
  await user.keyboard("{ArrowRight}");
  expect(focused()).toBe(bar.getByText("Remove"));
  await user.tab();
  expect(focused()).toHaveTextContent("After");
  await user.tab({ shift: true });
  expect(focused()).toBe(bar.getByText("Remove")); // where it was left
  await user.keyboard("{ArrowRight}");
  expect(focused()).toBe(bar.getByText("Duplicate"));
});
