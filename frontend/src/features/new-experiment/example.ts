import type { ExperimentSpec } from "@/lib/api/types";

/** The example comparison; a test holds it equal to examples/comparison.yaml. */
export const EXAMPLE: ExperimentSpec = {
  schema: "hooke.experiment/1",
  name: "Who reaches 95 % first on the digits?",
  description:
    "Five ways to train one small network with the elastic-averaging family: measured with real MPI processes on this machine, and computed for eight workers on the paper's 10 Gb/s Ethernet.",
  workload: { name: "digits-mlp" },
  batch: 32,
  variants: [
    { name: "Original EASGD", algorithm: "original-easgd", parameters: { mode: "ordered" } },
    { name: "Sync SGD", algorithm: "sync-sgd" },
    { name: "Sync EASGD", algorithm: "sync-easgd" },
    { name: "Sync EASGD, overlapped", algorithm: "sync-easgd", parameters: { overlap: true } },
    { name: "Async EASGD", algorithm: "async-easgd" },
  ],
  baseline: "Original EASGD",
  clusters: [
    { name: "local", workers: ["auto"], seeds: 3 },
    {
      name: "10gbe",
      on: "local",
      workers: [8],
      seeds: 5,
      virtual: { latency: 7.2e-6, seconds_per_byte: 0.9e-9 },
    },
  ],
  budget: { samples: 120_000 },
  target: { metric: "test_accuracy", value: 0.95 },
  evaluation: { every: 2000 },
};
