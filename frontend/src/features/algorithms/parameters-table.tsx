import { NativeSelect } from "@mantine/core";
import type { AlgorithmView } from "@/lib/client/types.gen";
import { formatNumber } from "@/lib/format/numbers";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { formatCondition, formatSpace, formatValue } from "@/lib/spaces/words";
import { withCode } from "@/lib/ui/code";
import screen from "@/lib/ui/screen.module.css";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./algorithms.module.css";
import { COUNTS, type Figures } from "./figures";

/** Workers of the bounds until others are chosen. */
const USUALLY = "4";

/** What may be set, with default and range, and what tuning searches; settings that many methods share come last. */
export function ParametersTable({
  algorithm,
  bounds,
  workers: asked,
  choose,
}: {
  algorithm: AlgorithmView;
  bounds?: Figures["bounds"];
  /** The number of workers that was chosen, of which the bounds are told. */
  workers?: number;
  choose?: (workers: number) => void;
}) {
  const workers = bounds?.[String(asked)] ? String(asked) : USUALLY;
  const fields = fieldsFromSchema(algorithm.parameters);
  if (fields.length === 0) return <p className={screen.intro}>This algorithm has no parameters.</p>;
  const groups = [...new Set(fields.map(({ group }) => group))].sort((a, b) => a.length - b.length);
  const limit = (name: string) => {
    const bound = bounds?.[workers]?.[name];
    if (bound === undefined) return "";
    const rate =
      name === "rho" ? ` at lr = ${formatValue(fields.find((one) => one.name === "lr")?.default)}` : "";
    return `Stable without gradients below ${formatNumber(bound)} on ${workers} workers${rate}; with gradients the bound is lower.`;
  };
  const table = (
    <TableRegion label={`Parameters of ${algorithm.title}`}>
      <table className={`${ui.table} ${ui.sticky}`} data-testid="parameters-table">
        <thead>
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">Default</th>
            <th scope="col">Values</th>
            <th scope="col">Tuning searches</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        {groups.map((group) => (
          <tbody key={group}>
            {fields
              .filter((field) => field.group === group)
              .map((field) => (
                <Row key={field.name} field={field} algorithm={algorithm} limit={limit(field.name)} />
              ))}
          </tbody>
        ))}
      </table>
    </TableRegion>
  );
  if (!bounds) return table;
  return (
    <>
      <NativeSelect
        className={styles.choice}
        size="xs"
        label="Stability bounds for workers"
        data={COUNTS.map(String).filter((count) => bounds[count])}
        value={workers}
        onChange={(event) => choose?.(Number(event.currentTarget.value))}
      />
      {table}
    </>
  );
}

function Row({ field, algorithm, limit }: { field: FormField; algorithm: AlgorithmView; limit: string }) {
  const { name, title, description } = field;
  return (
    <tr data-testid="parameter">
      <td>
        <code>{name}</code>
      </td>
      <td>{field.default === undefined ? "required" : formatValue(field.default)}</td>
      <td>{valuesOf(field)}</td>
      <td className={styles.wrapped}>{searchedOf(algorithm, name)}</td>
      <td className={styles.wrapped}>
        {withCode([title === name ? "" : title, description].filter(Boolean).join(". "))}
        {limit && <strong className={styles.bound}>{limit}</strong>}
      </td>
    </tr>
  );
}

const KINDS: Record<FormField["kind"], string> = {
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  choice: "",
  text: "text",
  mixed: "a number or a word",
  numbers: "numbers",
};

/** "0 to 2, or empty", "heavy-ball, nesterov". */
function valuesOf({ kind, bounds, choices, nullable }: FormField): string {
  const said = kind === "choice" ? choices.join(", ") : bounds || KINDS[kind];
  return nullable ? `${said}, or empty` : said;
}

function searchedOf(algorithm: AlgorithmView, name: string): string {
  const space = algorithm.search[name];
  if (!space) return "";
  const condition = formatCondition(space);
  return condition ? `${formatSpace(space)}, if ${condition}` : formatSpace(space);
}
