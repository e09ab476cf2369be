import { formatBytes } from "./numbers";

const NAMES: Readonly<Record<string, string>> = {
  cpu: "processor",
  cpu_generation: "generation",
  cpu_bf16: "bf16 by",
  numa_nodes: "NUMA nodes",
  gpus: "GPUs",
  gpu_driver: "GPU driver",
  mpi_cuda: "MPI with device memory",
};

/** What a run's hardware is called and how it reads; what this file does not know is shown as it was reported. */
export function hardwareRows(hardware: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(hardware)
    .filter(([, value]) => value !== "" && value !== null)
    .map(([key, value]) =>
      key.endsWith("_bytes") && typeof value === "number"
        ? [spaced(key.slice(0, -"_bytes".length)), formatBytes(value)]
        : [NAMES[key] ?? spaced(key), read(key, value)],
    );
}

function read(key: string, value: unknown): string {
  return key === "cpu_bf16" && value === "emulated" ? "emulation" : String(value);
}

function spaced(key: string): string {
  return key.replaceAll("_", " ");
}
