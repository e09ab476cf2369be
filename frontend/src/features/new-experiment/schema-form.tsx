import type { ReactNode } from "react";
import { withCode } from "@/lib/ui/code";
import type { Path } from "./document";
import { withValue } from "./document";
import { ChoiceField, MixedField, NumberField, SwitchField, TextField } from "./fields";
import { type FormField, fieldsFromSchema } from "./fields-from-schema";
import styles from "./form.module.css";
import { useForm } from "./form-context";

/** A flat form made from a JSON Schema; it writes into the document below `path`. */
export function SchemaForm({
  schema,
  path,
  without = [],
  children,
}: {
  schema: unknown;
  path: Path;
  /** Fields that mean nothing with the values of the others. */
  without?: readonly string[];
  /** Fields from elsewhere that follow in the same grid. */
  children?: ReactNode;
}) {
  const fields = fieldsFromSchema(schema).filter((field) => !without.includes(field.name));
  if (fields.length === 0 && !children) return null;
  return (
    <div className={styles.grid}>
      {fields.map((field) => (
        <SchemaField key={field.name} field={field} path={[...path, field.name]} />
      ))}
      {children}
    </div>
  );
}

function SchemaField({ field, path }: { field: FormField; path: Path }) {
  const { change } = useForm();
  const empty = field.nullable && !/\bempty\b/i.test(field.description) ? "may be empty" : "";
  const told = [field.description.replace(/\.$/, ""), field.bounds, empty].filter(Boolean).join("; ");
  const description = told && withCode(told);
  const shared = { path, label: field.title, description, fallback: field.default };
  switch (field.kind) {
    case "number":
    case "integer":
      return <NumberField {...shared} nullable={field.nullable} />;
    case "mixed":
      return <MixedField {...shared} />;
    case "boolean":
      return <SwitchField {...shared} />;
    case "choice":
      return (
        <ChoiceField
          {...shared}
          choices={field.choices.map((value) => ({ value: String(value), label: String(value) }))}
          onChoice={(text) => {
            const value = field.choices.find((choice) => String(choice) === text) ?? text;
            change((draft) => withValue(draft, path, value));
          }}
        />
      );
    case "text":
      return <TextField {...shared} />;
  }
}
