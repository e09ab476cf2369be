import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { knowledgeOf, schemaIn } from "@/features/new-experiment/knowledge";
import { withoutDefaults } from "@/lib/yaml/defaults";
import type { Shape } from "@/lib/yaml/shapes";
import { CATALOGUE, workload } from "../support/fixtures/catalogue";

const API: unknown = JSON.parse(readFileSync(`${import.meta.dirname}/../../../api/openapi.json`, "utf8"));
const KNOWN = knowledgeOf(schemaIn(API) as Shape, {
  algorithms: CATALOGUE,
  workloads: [workload("digits-mlp")],
  clusters: [],
});
const bare = (document: Record<string, unknown>) => withoutDefaults(document, KNOWN);

const STATED = {
  schema: "hooke.experiment/1",
  name: "Digits",
  workload: { name: "digits-mlp" },
  batch: 32,
  variants: [{ name: "A", algorithm: "sync-easgd" }],
  baseline: "A",
  clusters: [{ name: "local", workers: ["auto"], seeds: 3 }],
  budget: { samples: 1000 },
  evaluation: { every: 200 },
};
const communication = {
  bucket_bytes: 1_048_576,
  collective: "halving",
  error_feedback: true,
  packing: "one",
  rows: "all",
  wire: "fp32",
  wire_share: 0.01,
};
/** As the server stores it: everything is named. */
const STORED = {
  ...STATED,
  description: "",
  workload: { name: "digits-mlp", hash: null, parameters: {} },
  variants: [
    {
      ...{ name: "A", algorithm: "sync-easgd", parameters: {}, communication },
      ...{ search: {}, sweep: {}, workload_settings: {} },
    },
  ],
  clusters: [{ name: "local", workers: ["auto"], seeds: 3, computed_on: null, virtual: null, groups: [] }],
  budget: { samples: 1000, max_seconds: null, max_stall_seconds: null, schedule_samples: null },
  compute: { device: "auto", placement: "none", precision: "fp32", threads: 1 },
  first_seed: 0,
  on_bad_worker: "fail",
  retry: null,
  sharding: "iid",
  target: null,
  trace: false,
  tuning: null,
};

describe("a document without its defaults", () => {
  it("has what is always said, what is required, and nothing else", () => {
    expect(bare(STORED)).toEqual(STATED);
    expect(bare(STATED)).toEqual(STATED);
  });

  it("has what differs, at its place", () => {
    const [variant] = STORED.variants;
    const differs = {
      ...STORED,
      sharding: "disjoint",
      retry: { attempts: 5, backoff_seconds: 10, longest_backoff_seconds: 600 },
      compute: { ...STORED.compute, threads: "group" },
      variants: [{ ...variant, communication: { ...communication, wire: "bf16" } }],
      clusters: [{ ...STORED.clusters[0], virtual: { latency: 7.2e-6, compute_jitter: 0.05, like: null } }],
    };
    expect(bare(differs)).toEqual({
      ...STATED,
      sharding: "disjoint",
      retry: { attempts: 5 },
      compute: { threads: "group" },
      variants: [{ ...STATED.variants[0], communication: { wire: "bf16" } }],
      clusters: [{ ...STATED.clusters[0], virtual: { latency: 7.2e-6 } }],
    });
  });

  it("keeps an optional part all of whose values are defaults: it is not the same as none", () => {
    expect(bare({ ...STATED, retry: { attempts: 3 } })).toEqual({ ...STATED, retry: {} });
  });

  it("leaves out parameters that are the defaults of their algorithm, and of the workload", () => {
    const variants = [
      { ...STATED.variants[0], parameters: { lr: 0.1, rho: 0.2 } },
      { name: "B", algorithm: "sync-sgd", parameters: { lr: 0.1 } },
      { name: "C", algorithm: "sync-sgd", parameters: { lr: 0.2 } },
    ];
    const workload = { name: "digits-mlp", parameters: { hidden: 256 } };
    expect(bare({ ...STATED, workload, variants })).toEqual({
      ...STATED,
      variants: [
        { ...STATED.variants[0], parameters: { rho: 0.2 } },
        variants[1],
        { name: "C", algorithm: "sync-sgd" },
      ],
    });
  });

  it("keeps named parameters where there is tuning: others are searched, and a continued workload is the same", () => {
    const named = {
      workload: { name: "digits-mlp", parameters: { hidden: 256 } },
      variants: [{ ...STATED.variants[0], parameters: { lr: 0.1 } }],
    };
    const tuned = { ...STATED, ...named, tuning: { trials: 12, seeds: 1, search: "quasi-random" } };
    expect(bare(tuned)).toEqual({ ...STATED, ...named, tuning: { seeds: 1 } });
    expect(bare({ ...tuned, tuning: null })).toEqual(STATED);
  });

  it("keeps what stands in mappings of one's own keys", () => {
    const own = {
      search: { lr: null },
      sweep: { momentum: [0.9] },
      workload_settings: { hidden: 256 },
    };
    expect(bare({ ...STATED, variants: [{ ...STATED.variants[0], ...own }] }).variants).toEqual([
      { ...STATED.variants[0], ...own },
    ]);
  });

  it("keeps what no schema knows, whatever it is", () => {
    const odd = { ...STATED, unknown: null, variants: "none", clusters: [null, 3], budget: [] };
    expect(bare(odd)).toEqual(odd);
  });
});
