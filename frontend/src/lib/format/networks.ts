/** Networks with known constants: seconds per message (A) and per byte (B). */
export const PRESETS = [
  { key: "10gbe", label: "10 GbE", latency: 7.2e-6, seconds_per_byte: 0.9e-9 },
  { key: "fdr", label: "FDR InfiniBand (typical)", latency: 0.7e-6, seconds_per_byte: 0.2e-9 },
  { key: "qdr", label: "QDR InfiniBand (typical)", latency: 1.2e-6, seconds_per_byte: 0.3e-9 },
] as const;
export type Preset = (typeof PRESETS)[number];
