import { screen, waitFor, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { openApp } from "../support/app";
import { experiment } from "../support/fixtures/experiment";
import { run, series } from "../support/fixtures/run";
import { apiServer } from "../support/server";

const server = apiServer();

it("a run's page adds charts of any metric over any axis, and the address keeps them", async () => {
  server
    .on("GET /experiments/*", experiment())
    .on("GET /runs/*", run())
    .on("GET /experiments/*/metrics", {
      items: [
        {
          name: "p_at_1",
          title: "P@1",
          unit: "share",
          description: "",
          better: "higher",
          measured: false,
        },
      ],
    })
    .on("POST /series", ({ body }) => {
      const { metrics, axis } = body as { metrics: string[]; axis: "clock" };
      return { axis, unit: "s", series: metrics.map((metric) => series(metric)) };
    })
    .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 });
  const { user, address } = openApp(server, "/runs/run_21");
  const curves = within(await screen.findByTestId("run-curves"));
  await waitFor(() => expect(screen.getByTestId("chart-train_loss")).toHaveAttribute("data-points", "3"));
  await user.click(curves.getByRole("combobox", { name: "Add a chart" }));
  await user.click(await screen.findByRole("option", { name: "P@1" }));
  await waitFor(() => expect(screen.getByTestId("chart-p_at_1")).toHaveAttribute("data-points", "3"));
  expect(address()).toBe("/runs/run_21?more=p_at_1");
  await user.selectOptions(curves.getByRole("combobox", { name: "Axis of this chart" }), "bytes");
  await waitFor(() => expect(address()).toBe("/runs/run_21?more=p_at_1-bytes"));
  const asked = server
    .askedFor("POST /series")
    .map(({ body }) => body as { metrics: string[]; axis: string });
  await waitFor(() =>
    expect(server.askedFor("POST /series").at(-1)?.body).toMatchObject({
      metrics: ["p_at_1"],
      axis: "bytes",
    }),
  );
  expect(asked[0]?.axis).toBe("clock");
  await user.click(curves.getByRole("button", { name: "Remove this chart" }));
  await waitFor(() => expect(address()).toBe("/runs/run_21"));
});
