import { Text } from "@mantine/core";
import type { AlgorithmView, ExperimentView } from "@/lib/client/types.gen";
import { formatCount } from "@/lib/format/numbers";
import { colorOf } from "@/lib/theme/palette";
import { Section } from "@/lib/ui/section";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import { VariantChip } from "@/lib/ui/variant-chip";

/** As many seeds as a cluster has where the document does not say. */
const USUAL_SEEDS = 3;

interface PresentProps {
  experiment: ExperimentView;
  algorithms: readonly AlgorithmView[];
}

/** What the experiment has already, and how each new variant is measured. */
export function PresentVariants({ experiment, algorithms }: PresentProps) {
  const { spec } = experiment;
  return (
    <Section title="Existing variants" testId="present-variants">
      <TableRegion label="Table of existing variants">
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">Variant</th>
              <th scope="col">Algorithm</th>
            </tr>
          </thead>
          <tbody>
            {spec.variants.map(({ name, algorithm }) => (
              <tr key={name}>
                <td>
                  <VariantChip name={name} index={colorOf(experiment, name)} />
                  {name === spec.baseline && " (baseline)"}
                </td>
                <td>{algorithms.find((one) => one.name === algorithm)?.title ?? algorithm}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableRegion>
      <Text fz={13} lh={1.5} c="dimmed" maw="76ch" mt={10} data-testid="measured-so">
        {measuredSo(experiment)}
      </Text>
    </Section>
  );
}

/** How each new variant is measured: as the present ones were. */
export function measuredSo({ spec }: ExperimentView): string {
  const { tuning, clusters } = spec;
  const counts = clusters.map(({ seeds }) => seeds ?? USUAL_SEEDS);
  const [fewest, most] = [Math.min(...counts), Math.max(...counts)];
  const seeds = `${fewest === most ? "" : `${fewest} to `}${most} ${most === 1 ? "seed" : "seeds"}`;
  if (!tuning)
    return `Each new variant runs on the same ${seeds}, at the same places and with the same budget.`;
  const { trials = 12, seeds: each = 1, cluster } = tuning;
  const runs = each === 1 ? "" : `, each with ${each} tuning seeds`;
  const where = cluster ? ` on ${cluster}` : " at each place";
  return (
    `It is tuned: each new variant gets ${formatCount(trials)} trials${where}, as many as the others had${runs}. ` +
    `The setting that they choose is measured on the same ${seeds}. Existing variants are not tuned again.`
  );
}
