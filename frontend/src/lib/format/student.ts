/** 97.5% quantiles of Student's t for 1 to 30 degrees of freedom. */
const T975 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** The same for any number of degrees of freedom; beyond the table within 0.002. */
export const t975 = (freedom: number): number => T975[freedom - 1] ?? 1.96 + 2.4 / freedom;

/** The 95% t interval of a geometric mean, of three values or more. */
export function geometricInterval(values: readonly number[]): [number, number] | null {
  const n = values.length;
  if (n < 3) return null;
  const logs = values.map(Math.log);
  const mean = logs.reduce((sum, each) => sum + each, 0) / n;
  const variance = logs.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (n - 1);
  const half = t975(n - 1) * Math.sqrt(variance / n);
  return [Math.exp(mean - half), Math.exp(mean + half)];
}
