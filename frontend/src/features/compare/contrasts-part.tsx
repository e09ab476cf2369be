import { NativeSelect } from "@mantine/core";
import type { ComparedRow, ComparedRows, ContrastView, SpeedUp } from "@/lib/client/types.gen";
import { formatRatio, NONE } from "@/lib/format/numbers";
import { estimated } from "@/lib/format/ratios";
import { isolatedParts } from "@/lib/format/right-to-left";
import { Figure } from "@/lib/ui/figure";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import { Tag } from "@/lib/ui/tag";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";
import styles from "./compare.module.css";
import { colorsOf, namesOf, placeOf, sourceOf } from "./names";
import type { CompareSearch } from "./search";
import { keyOf } from "./selection";

interface ContrastsProps {
  compared: ComparedRows;
  against: string | undefined;
  change: (next: Partial<CompareSearch>) => void;
}

/** Ratios of times to the target, paired by seed; what is not comparable is said in a sentence. */
export function ContrastsPart({ compared, against, change }: ContrastsProps) {
  const { rows, contrasts, note } = compared;
  const names = namesOf(rows);
  const references = rows.map((row, at) => ({ value: keyOf(row), label: `all rows against ${names[at]}` }));
  const corrected = Math.max(1, ...contrasts.map(({ speed_up }) => speed_up?.comparisons ?? 1));
  return (
    <Section
      title={against ? "Against one row" : "Cluster against cluster"}
      testId="contrasts"
      aside={
        <NativeSelect
          size="xs"
          aria-label="Comparison"
          data={[{ value: "", label: "each variant, cluster against cluster" }, ...references]}
          value={against ?? ""}
          onChange={(event) => change({ against: event.currentTarget.value || undefined })}
        />
      }
    >
      {note && <p className={styles.note}>{note}</p>}
      {!note && contrasts.length === 0 && (
        <p className={styles.note}>
          {against
            ? "There is only one row."
            : "No variant was selected on two clusters with the same number of workers. Compare one row with all others instead."}
        </p>
      )}
      {contrasts.length > 0 && (
        <>
          <p className={styles.note}>
            Time to the target of one row over that of the other, geometric mean over the seeds that both
            have, with 95% intervals
            {corrected > 1 && `; claims hold after correction for ${corrected} ratios (Holm)`}.
          </p>
          <Table compared={compared} />
        </>
      )}
    </Section>
  );
}

function Table({ compared }: { compared: ComparedRows }) {
  const color = colorsOf(compared.experiments);
  return (
    <TableRegion label="Ratios of times to the target">
      <table className={`${ui.table} ${ui.sticky}`}>
        <caption className={ui.unseen}>
          A ratio above 1 means that the first row takes longer than the second one.
        </caption>
        <thead>
          <tr>
            <th scope="col">Time of</th>
            <th scope="col">over that of</th>
            <th scope="col" className={ui.number}>
              Ratio
            </th>
            <th scope="col" className={ui.number}>
              Seeds
            </th>
            <th scope="col">Conclusion</th>
          </tr>
        </thead>
        <tbody>
          {compared.contrasts.map((contrast) => (
            <ContrastRow
              key={`${contrast.first} ${contrast.second}`}
              contrast={contrast}
              rows={compared.rows}
              color={color}
            />
          ))}
        </tbody>
      </table>
    </TableRegion>
  );
}

interface ContrastRowProps {
  contrast: ContrastView;
  rows: readonly ComparedRow[];
  color: (variant: string) => number;
}

function ContrastRow({ contrast, rows, color }: ContrastRowProps) {
  const { first, second, speed_up, sentence } = contrast;
  return (
    <tr data-testid="contrast">
      <th scope="row" className={styles.rowName}>
        <Name row={rows[first]} color={color} />
      </th>
      <td>
        <Name row={rows[second]} color={color} />
      </td>
      <td className={ui.number}>{speed_up ? <Figure {...ratio(speed_up)} /> : NONE}</td>
      <td className={ui.number}>{speed_up ? speed_up.pairs : NONE}</td>
      <td className={styles.sentence}>{isolatedParts(sentence)}</td>
    </tr>
  );
}

function Name({ row, color }: { row: ComparedRow | undefined; color: (variant: string) => number }) {
  if (!row) return null;
  return (
    <>
      <VariantChip name={row.variant} index={color(row.variant)} />
      <span className={ui.range}>
        {sourceOf(row)} {placeOf(row)} {row.simulated && <Tag kind="simulated" />}
      </span>
    </>
  );
}

/** A ratio over its interval, or over the claim where there is none. */
function ratio(speedUp: SpeedUp): { value: string; range: string } {
  const { claim, low, high } = speedUp;
  const mean = estimated(speedUp);
  if (claim === "no claim" || (low === null && high === null))
    return { value: formatRatio(mean), range: claim };
  if (high === null) return { value: formatRatio(mean), range: `from ${formatRatio(low)}` };
  return {
    value: formatRatio(mean),
    range: low === null ? `up to ${formatRatio(high)}` : `${formatRatio(low)} to ${formatRatio(high)}`,
  };
}
