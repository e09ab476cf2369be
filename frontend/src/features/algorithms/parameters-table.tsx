import type { AlgorithmView } from "@/lib/client/types.gen";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { formatCondition, formatSpace, formatValue } from "@/lib/spaces/words";
import { withCode } from "@/lib/ui/code";
import { TableRegion } from "@/lib/ui/table-region";
import ui from "@/lib/ui/ui.module.css";
import styles from "./algorithms.module.css";

/** What may be set, with default and range, and what tuning searches; settings that many methods share come last. */
export function ParametersTable({ algorithm }: { algorithm: AlgorithmView }) {
  const fields = fieldsFromSchema(algorithm.parameters);
  if (fields.length === 0) return <p className={styles.note}>It has no parameters.</p>;
  const groups = [...new Set(fields.map(({ group }) => group))].sort((a, b) => a.length - b.length);
  return (
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
                <Row key={field.name} field={field} algorithm={algorithm} />
              ))}
          </tbody>
        ))}
      </table>
    </TableRegion>
  );
}

function Row({ field, algorithm }: { field: FormField; algorithm: AlgorithmView }) {
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
      </td>
    </tr>
  );
}

const KINDS: Record<FormField["kind"], string> = {
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  choice: "",
  text: "a text",
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
