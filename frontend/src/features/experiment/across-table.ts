import type { Across, PooledRatio, SpeedUp } from "@/lib/client/types.gen";
import { formatRatio, NONE } from "@/lib/format/numbers";

type Ratio = Pick<SpeedUp | PooledRatio, "claim" | "ratio" | "low" | "high">;

/** A ratio, and its interval or what stands for one. */
export function ratioText(found: Ratio): { value: string; range: string } {
  const { claim, ratio, low, high } = found;
  if (claim === "baseline") return { value: "1×", range: "baseline" };
  if (claim === "no claim") return { value: formatRatio(ratio), range: "no claim" };
  if (high === null)
    return { value: formatRatio(ratio), range: low === null ? claim : `from ${formatRatio(low)}` };
  if (low === null) return { value: formatRatio(ratio), range: `up to ${formatRatio(high)}` };
  return { value: formatRatio(ratio), range: `${formatRatio(low)} to ${formatRatio(high)}` };
}

const escaped = (text: string) =>
  text
    .replace(/[&%$#_{}]/g, "\\$&")
    .replaceAll("×", "$\\times$")
    .replaceAll(NONE, "--");

/** The table for a paper: speed-ups over the baseline with 95% intervals, in LaTeX with booktabs. */
export function latexTable(across: Across, baseline: string): string {
  const pooled = across.pool.length > 0;
  const simulated = new Set(
    across.rows.flatMap((row) => row.clusters.filter((one) => one.simulated).map((one) => one.cluster)),
  );
  const heads = across.clusters.map((name) => (simulated.has(name) ? `${name} (simulated)` : name));
  const cell = (found: Ratio | null | undefined) => {
    if (!found) return NONE;
    const { value, range } = ratioText(found);
    return `${value} (${range})`;
  };
  const rows = across.rows.map((row) => {
    const cells = across.clusters.map((name) =>
      cell(row.clusters.find((one) => one.cluster === name)?.speed_up),
    );
    const mean = row.variant === baseline ? NONE : cell(row.pooled);
    return [row.variant, ...cells, ...(pooled ? [mean] : [])].map(escaped).join(" & ");
  });
  return [
    `% speed-up over ${baseline}, ${across.workers} workers; 95% intervals over seeds`,
    `\\begin{tabular}{l${"r".repeat(heads.length + (pooled ? 1 : 0))}}`,
    "\\toprule",
    `${["Variant", ...heads, ...(pooled ? [`mean of ${across.pool.length}`] : [])].map(escaped).join(" & ")} \\\\`,
    "\\midrule",
    ...rows.map((row) => `${row} \\\\`),
    "\\bottomrule",
    "\\end{tabular}",
  ].join("\n");
}
