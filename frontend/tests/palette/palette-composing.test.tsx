import { fireEvent, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { CATALOGUE } from "../support/fixtures/catalogue";
import { summary } from "../support/fixtures/experiment";
import { apiServer } from "../support/server";

const server = apiServer();

it("the palette hears the Enter of a keyboard that composes every word: it would break the line", async () => {
  server.on("GET /experiments", { items: [summary(7)], next_cursor: null });
  server.on("GET /algorithms", CATALOGUE).on("GET /clusters", { items: [] });
  const { user, address } = openApp(server, "/");
  await screen.findByTestId("experiment-item");
  await user.click(screen.getByTestId("open-palette"));
  const field = await screen.findByRole("combobox", { name: "Search" });
  await user.type(field, "clusters");
  await screen.findByRole("option", { name: /^Clusters/, selected: true });
  fireEvent.keyDown(field, { key: "Enter", isComposing: true });
  expect(address()).toBe("/");
  fireEvent(field, new InputEvent("beforeinput", { inputType: "insertLineBreak", cancelable: true }));
  await waitFor(() => expect(address()).toBe("/clusters"));
});
