import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { BandAnswer } from "@/lib/client/types.gen";
import { variantStyle } from "@/lib/theme/palette";
import { frame, openApp } from "../support/app";
import { asksAgain } from "../support/asks-again";
import { drawnIn } from "../support/canvas";
import { band, comparison, estimate, experiment, row } from "../support/fixtures/experiment";
import { apiServer, Refusal } from "../support/server";
import { answerExperiment, bands, chart, openExperiment } from "./page";

const server = apiServer();
beforeEach(() => answerExperiment(server));
const open = (address?: string) => openExperiment(server, address);
const part = (id: string) => within(screen.getByTestId(id));
const plot = () => within(chart()).getByRole("img");
const curves = () => {
  const colors = [0, 1, 2].map((index) => variantStyle(index).light);
  return new Set(
    drawnIn(chart()).flatMap(({ kind, style }) => (kind === "stroke" && colors.includes(style) ? style : [])),
  );
};

describe("the verdict", () => {
  it("says first who is fastest in each group, and has a line for each variant of the one with most to compare", async () => {
    await open();
    const verdict = part("verdict-sentences");
    expect(
      verdict.getByText("Fastest on local: Sync EASGD, 2.0× (1.6 to 2.5), not separated from Hogwild EASGD"),
    ).toBeVisible();
    expect(verdict.getByText("Fastest on 10gbe: Sync EASGD, 2.0× (1.6 to 2.5)")).toBeVisible();
    const lines = part("answer-lines").getAllByRole("listitem", { hidden: false });
    expect(lines.map((line) => line.textContent)).toEqual([
      "Original EASGDBaseline",
      "Sync EASGD2.0× faster (1.6 to 2.5, 3 seeds)",
      "Hogwild EASGD2.0× faster (1.6 to 2.5, 3 seeds)",
    ]);
    expect(verdict.getByText("Sync EASGD is the fastest on local.")).toBeInTheDocument();
    expect(verdict.getAllByText("simulated")).toHaveLength(1);
    expect(screen.getByTestId("verdict-sentences")).toHaveAttribute("data-complete", "true");
    expect(part("verdict").getByText("Target: validation accuracy 97%")).toBeVisible();
    expect(screen.getAllByTestId("comparison-row")).toHaveLength(3);
  });

  it("draws the intervals before the figures, and says what they leave open", async () => {
    await open();
    const plot = screen.getByTestId("answer-lines");
    expect(within(plot).getByTestId("forest-axis")).toBeInTheDocument();
    const after = plot.compareDocumentPosition(screen.getByTestId("comparison-table"));
    expect(after & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
    expect(screen.getByTestId("not-shown")).toHaveTextContent(
      "Not shown: which of Sync EASGD and Hogwild EASGD is fastest; anything beyond this workload, target, cluster and number of workers.",
    );
  });

  it.each([
    [{ complete: false }, /provisional: runs have not all ended/],
    [{ target: null }, /No target: final figures are compared/],
    [{ note: "Judged on the test part." }, /Judged on the test part\./],
  ])("says what it rests on: %o", async (changes, words) => {
    server.on("GET /experiments/*/comparison", comparison(changes));
    await open();
    expect(part("verdict").getByText(words)).toBeVisible();
  });

  it("can be missing while the page stands, and is asked for again", async () => {
    server.on("GET /experiments/*/comparison", new Refusal(500, "A row is broken."));
    const { user } = openApp(server, "/experiments/exp_7");
    const alert = await screen.findByRole("alert");
    expect(alert).toHaveTextContent("The comparison could not be computed. A row is broken.");
    server.on("GET /experiments/*/comparison", comparison());
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    expect(await screen.findAllByTestId("comparison-row")).toHaveLength(3);
  });
});

describe("groups of runs", () => {
  it("are picked for the table, the curves, the phases and the address together", async () => {
    const { user, address } = await open();
    expect(plot()).toHaveAccessibleName(/Original EASGD 90.00% at 3 s; Sync EASGD 95.00% at 3 s/);
    await user.click(part("verdict").getByText("10gbe · 8 workers (simulated)"));
    await waitFor(() => expect(screen.getAllByTestId("comparison-row")).toHaveLength(2));
    expect(address()).toBe("/experiments/exp_7?cluster=10gbe&workers=8");
    expect(plot()).toHaveAccessibleName("Validation accuracy. Sync EASGD 50.00% at 3 s.");
    expect(part("phases").getAllByTestId("phase-row")).toHaveLength(2);
    expect(part("phases").getByText("simulated")).toBeVisible();
    await frame();
    expect(drawnIn(chart()).map((mark) => mark.text)).toContain("Train clock (virtual s)");
  });

  it("have no picker where there is but one", async () => {
    server.on("GET /experiments/*/comparison", comparison({ rows: [row("Sync EASGD")] }));
    await open();
    expect(screen.queryByTestId("group-picker")).toBeNull();
  });
});

describe("curves", () => {
  it("hand every evaluation of the group to the charts, with the target", async () => {
    await open();
    expect(chart()).toHaveAttribute("data-points", "6"); // two variants
    expect(within(chart()).getByText("3 seeds, 9 evaluations each")).toBeVisible();
    expect(drawnIn(chart()).map((mark) => mark.text)).toContain("target 97%");
    expect(drawnIn(screen.getByTestId("chart-validation_loss")).map((mark) => mark.text)).not.toContain(
      "target 97%",
    );
    expect(within(screen.getByTestId("chart-validation_loss")).getByRole("img")).toHaveAccessibleName(
      "Validation loss. Sync EASGD 0.2 at 3 s.",
    );
  });

  it("are switched off and on by the legend, in the address too", async () => {
    const { user, router } = await open();
    await waitFor(() => expect([...curves()]).toEqual([variantStyle(0).light, variantStyle(1).light]));
    const item = within(screen.getByRole("toolbar", { name: "Variants of Validation accuracy" })).getByRole(
      "button",
      { name: "Original EASGD" },
    );
    await user.click(item);
    await waitFor(() => expect(router.state.location.search).toMatchObject({ hide: "0" }));
    expect(item).toHaveAttribute("aria-pressed", "false");
    await waitFor(() => expect([...curves()]).toEqual([variantStyle(1).light]));
    await user.click(item);
    await waitFor(() => expect(router.state.location.search.hide).toBeUndefined());
    expect(item).toHaveAttribute("aria-pressed", "true");
  });

  it("end where the first seed ends, go on as pale lines of the others, and can be drawn per seed", async () => {
    const y = [0.2, 0.9];
    const one = (name: string, x: number[]) => ({
      run: name,
      metric: "validation_accuracy" as const,
      x,
      y,
      n: 2,
      of: 2,
    });
    const ended = band("Sync EASGD", { runs: ["run_21", "run_22"], n: [2, 2, 1] });
    server.on("GET /experiments/*/bands", bands({ bands: [ended] })).on("POST /series", {
      axis: "clock",
      unit: "s",
      series: [one("run_21", [1, 2]), one("run_22", [1, 3])],
    });
    const { user, address } = await open();
    const pale = () =>
      drawnIn(chart()).filter(
        ({ kind, style }) => kind === "stroke" && style === `${variantStyle(1).light}80`,
      );
    await waitFor(() => expect(chart()).toHaveAttribute("data-points", "5")); // the mean's grid, and one tail
    await frame();
    expect(pale()).toHaveLength(1);
    expect(server.askedFor("POST /series")[0]?.body).toMatchObject({
      runs: ["run_21", "run_22"],
      metrics: ["validation_accuracy"],
    });
    await user.click(screen.getByLabelText("Each seed"));
    await waitFor(() => expect(address()).toBe("/experiments/exp_7?seeds=each"));
    expect(plot()).toHaveAccessibleName(
      "Validation accuracy. Sync EASGD, seed 0 90.00% at 2 s; Sync EASGD, one seed 90.00% at 3 s.",
    );
  });

  it("begin as the address says", async () => {
    await open("/experiments/exp_7?hide=0_2&axis=samples&y=close");
    await waitFor(() => expect([...curves()]).toEqual([variantStyle(1).light]));
    expect(screen.getByLabelText("Close-up")).toBeChecked();
    expect(part("curves").getByRole("radio", { name: "Samples" })).toBeChecked();
    const { query } = server.askedFor("GET /experiments/*/bands")[0] ?? {};
    expect(query?.get("axis")).toBe("samples");
    expect(query?.getAll("metric")).toContain("validation_accuracy");
  });

  it("run over another axis once its answer is there, and keep the old one until then", async () => {
    const { user, address } = await open();
    let answer: (value: BandAnswer) => void = () => undefined;
    server.on("GET /experiments/*/bands", () => new Promise((resolve) => (answer = resolve)));
    await user.click(part("curves").getByText("Bytes sent"));
    await waitFor(() =>
      expect(server.askedFor("GET /experiments/*/bands").at(-1)?.query.get("axis")).toBe("bytes"),
    );
    expect(address()).toBe("/experiments/exp_7?axis=bytes");
    expect(plot()).toHaveAccessibleName(/at 3 s/);
    answer(bands({ axis: "bytes", bands: [band("Sync EASGD", { x: [1e6, 2e6, 3e6] })] }));
    await waitFor(() =>
      expect(plot()).toHaveAccessibleName("Validation accuracy. Sync EASGD 95.00% at 3 MB."),
    );
  });

  it("say what they wait for", async () => {
    server
      .on("GET /experiments/*", experiment({ state: "queued" }))
      .on("GET /experiments/*/bands", bands({ bands: [] }));
    openApp(server, "/experiments/exp_7");
    expect(await screen.findAllByText("Waiting for free slots")).toHaveLength(2);
  });

  it("are of the test part where runs were made without another", async () => {
    server.on(
      "GET /experiments/*/bands",
      bands({ bands: [band("Sync EASGD", { metric: "test_accuracy" })] }),
    );
    openApp(server, "/experiments/exp_7");
    expect(await screen.findByTestId("chart-test_accuracy")).toBeVisible();
    expect(screen.queryByTestId("chart-validation_accuracy")).toBeNull();
  });
});

describe("where the time went", () => {
  it("has a bar and a communication fraction for each variant, and what was hidden", async () => {
    const hidden = row("Sync EASGD", { hidden: estimate(1.25), communication_fraction: estimate(0.125) });
    server.on("GET /experiments/*/comparison", comparison({ rows: [row("Original EASGD"), hidden] }));
    await open();
    const [first, second] = part("phases").getAllByTestId("phase-row");
    expect(first).toHaveTextContent(/25.0% communication\s*none hidden/);
    expect(second).toHaveTextContent(/12.5% communication\s*plus 1.25 s hidden/);
    expect(within(first as HTMLElement).getByRole("img")).toHaveAccessibleName(
      "Original EASGD: data 10.0%, compute 50.0%, communicate 20.0%, update 10.0%, evaluate 5.0%, idle 5.0%",
    );
  });
});

it("says that there is no such experiment", async () => {
  server
    .on("GET /experiments/*", new Refusal(404, "Not found."))
    .on("GET /experiments/*/comparison", comparison());
  openApp(server, "/experiments/exp_0");
  expect(await screen.findByRole("heading", { name: "Experiment not found" })).toBeVisible();
  expect(document.title).toBe("Experiment not found · Hooke");
  expect(screen.queryByTestId("verdict")).toBeNull();
  await asksAgain(server, "GET /experiments/*", "experiment", { id: "exp_0" });
  expect(screen.getByRole("heading", { name: "Experiment not found" })).toBeVisible();
});

it("stays on the page when it is deleted elsewhere, says so, and no longer does once it is restored", async () => {
  const { live } = await open();
  await live();
  server.on("GET /experiments/*", new Refusal(404, "Not found."));
  server.send("experiment", { id: "exp_7" }, 20);
  const note = await screen.findByTestId("gone");
  expect(note).toHaveTextContent("The server no longer has this experiment: it was deleted");
  expect(within(note).getByRole("link")).toHaveAttribute("href", "/?show=deleted");
  expect(screen.getByTestId("verdict")).toBeVisible();
  server.on("GET /experiments/*", experiment());
  server.send("experiment", { id: "exp_7" }, 21);
  await waitFor(() => expect(screen.queryByTestId("gone")).toBeNull());
});
