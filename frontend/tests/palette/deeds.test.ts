import { expect, it } from "vitest";
import { deedsOfExperiment } from "@/features/palette/deeds";
import { experiment } from "../support/fixtures/experiment";

it("asks whether failed runs are retried without their number where trials are counted, which are not retried", () => {
  const failed = experiment({ state: "failed", runs: { succeeded: 7, failed_user: 2 } });
  const asked = (view: typeof failed) =>
    deedsOfExperiment(view).find(({ label }) => label.startsWith("Retry"))?.asks?.question;
  expect(asked(failed)).toMatch(/another attempt of the 2 runs that failed/);
  expect(asked({ ...failed, spec: { ...failed.spec, tuning: {} } })).toMatch(
    /attempt of the reported runs that failed/,
  );
});

it("says of what is done run by run, if it fails, that a part may be done", () => {
  const failed = experiment({ state: "failed", runs: { succeeded: 7, failed_user: 2 } });
  const said = deedsOfExperiment(failed).filter(({ fails }) => fails !== undefined);
  expect(said.map(({ label, fails }) => [label, fails])).toEqual([
    ["Retry the failed runs of this experiment", "Not all of the failed runs were retried."],
  ]);
});
