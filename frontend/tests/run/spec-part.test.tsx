import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { defaultOf, experimentIn, isDefault, settingsOf } from "@/features/run/settings";
import { openApp } from "../support/app";
import { algorithm, workload } from "../support/fixtures/catalogue";
import { experiment } from "../support/fixtures/experiment";
import { run } from "../support/fixtures/run";
import { apiServer, Refusal } from "../support/server";

const server = apiServer();
const number = (usual: number) => ({ type: "number", default: usual });
const DESCRIPTION = {
  components: {
    schemas: {
      Compute: { type: "object", properties: { threads: number(1) } },
      Communication: { type: "object", properties: { wire: { type: "string", default: "fp32" } } },
      VariantSpec: { type: "object", properties: { communication: { $ref: "#/x/Communication" } } },
      ExperimentSpec: {
        type: "object",
        properties: {
          batch: number(32),
          compute: { $ref: "#/x/Compute" },
          variants: { type: "array", items: { $ref: "#/x/VariantSpec" } },
        },
      },
    },
  },
};
const ALGORITHM = algorithm("sync-easgd", "Sync EASGD", {
  parameters: { type: "object", properties: { lr: number(0.1), rho: number(0.5) } },
});
const WORKLOAD = workload("digits", { parameters: { type: "object", properties: { width: number(64) } } });
const SPEC = {
  schema: "hooke.run/1",
  batch: 64,
  seed: 3,
  groups: [2, 2],
  target: null,
  compute: { threads: 1 },
  communication: { wire: "bf16" },
  algorithm: { name: "sync-easgd", parameters: { lr: 0.1, rho: 0.9 } },
  workload: { name: "digits", parameters: { width: 64 } },
};

describe("the settings of a run", () => {
  it("are the leaves of its document; a list is one", () => {
    const found = settingsOf({ a: { "b/c": { d: 1 } }, list: [1, { e: 2 }], none: {}, gone: null });
    expect(found.map(({ pointer, value }) => [pointer, value])).toEqual([
      ["/a/b~1c/d", 1],
      ["/list", [1, { e: 2 }]],
      ["/none", {}],
      ["/gone", null],
    ]);
  });

  it("have the defaults of the document, of the method and of the workload", () => {
    const schemas = {
      experiment: experimentIn(DESCRIPTION),
      algorithms: [ALGORITHM],
      workloads: [WORKLOAD],
    };
    const found = settingsOf(SPEC).map((one) => [one.pointer, defaultOf(one, SPEC, schemas)]);
    expect(Object.fromEntries(found)).toEqual({
      "/schema": undefined,
      "/batch": 32,
      "/seed": undefined,
      "/groups": undefined,
      "/target": undefined,
      "/compute/threads": 1,
      "/communication/wire": "fp32",
      "/algorithm/name": undefined,
      "/algorithm/parameters/lr": 0.1,
      "/algorithm/parameters/rho": 0.5,
      "/workload/name": undefined,
      "/workload/parameters/width": 64,
    });
    expect([isDefault(null, null), isDefault([1], [1]), isDefault(1, 2)]).toEqual([true, true, false]);
    expect([isDefault(null, undefined), isDefault(1, undefined)]).toEqual([true, false]);
  });
});

describe("the specification beside its defaults", () => {
  function open() {
    server
      .on("GET /experiments/*", experiment())
      .on("POST /series", { axis: "clock", unit: "s", series: [] })
      .on("GET /runs/*/logs", { lines: [], more: false, next_after: 0 })
      .on("GET /runs/*", run({ spec: SPEC }))
      .on("GET /algorithms", { items: [ALGORITHM], communication: {}, compute: {}, tuning: {} })
      .on("GET /workloads", { items: [WORKLOAD] })
      .on("GET /api/openapi.json", DESCRIPTION);
    return openApp(server, "/runs/run_21?spec=defaults");
  }

  it("shows what is not at its default, and folds the rest", async () => {
    open();
    const rows = await screen.findAllByTestId("changed-setting");
    const cells = rows.map((row) =>
      within(row)
        .getAllByRole("cell")
        .map((cell) => cell.textContent),
    );
    expect(cells).toContainEqual(["batch", "64", "32"]);
    expect(cells).toContainEqual(["communication wire", "bf16", "fp32"]);
    expect(cells).toContainEqual(["algorithm rho", "0.9", "0.5"]);
    expect(cells).toContainEqual(["seed", "3", ""]);
    expect(cells.map(([name]) => name)).not.toContain("algorithm lr");
    expect(cells.map(([name]) => name)).not.toContain("schema");
    expect(screen.getByText("4 settings are at the default")).toBeVisible();
  });

  it("reads the description of the API once", async () => {
    const app = open();
    await screen.findAllByTestId("changed-setting");
    await app.user.click(screen.getByText("Settings"));
    await waitFor(() => expect(screen.queryByTestId("changed-setting")).toBeNull());
    await app.user.click(screen.getByText("Non-default"));
    await screen.findAllByTestId("changed-setting");
    await app.idle();
    expect(server.askedFor("GET /api/openapi.json")).toHaveLength(1);
  });

  it("says why where the defaults cannot be read", async () => {
    const app = open();
    server.on("GET /workloads", new Refusal(403, "not for you"));
    expect(await screen.findByRole("alert")).toHaveTextContent(
      "The defaults could not be loaded. not for you",
    );
    await app.user.click(screen.getByText("Settings"));
    expect(await screen.findByText("bf16")).toBeVisible();
  });
});
