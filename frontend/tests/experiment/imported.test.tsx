import { screen } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";
import { ORIGIN } from "../support/fixtures/experiment";
import { search, tuned, tuning } from "../support/fixtures/tuning";
import { apiServer } from "../support/server";
import { answerTuned, card, openTuned } from "./tuned-page";

const server = apiServer();
beforeEach(() => answerTuned(server));
const searches = () => tuning({ searches: [search(), search({ variant: "Hogwild EASGD" })] });

it("an imported experiment says that its tuning cannot be continued, and offers no way to", async () => {
  server.on("GET /experiments/*", { ...tuned(), origin: ORIGIN });
  await openTuned(server, searches());
  expect(card().getByTestId("edges")).toHaveTextContent(
    /a better value may lie beyond.*Imported; cannot be continued here/,
  );
  expect(screen.queryByTestId("widen")).toBeNull();
  expect(screen.queryByTestId("widen-all")).toBeNull();
  expect(screen.getByRole("link", { name: "Clone" })).toBeVisible();
});

it("one that was submitted here offers both ways", async () => {
  await openTuned(server, searches());
  expect(screen.getByTestId("widen")).toBeVisible();
  expect(screen.getByTestId("widen-all")).toBeVisible();
  expect(screen.queryByText(/^Imported/)).toBeNull();
});
