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
  searched,
  children,
}: {
  schema: unknown;
  path: Path;
  /** Fields that mean nothing with the values of the others. */
  without?: readonly string[];
  /** Fields that tuning searches while they are empty. */
  searched?: ReadonlySet<string>;
  /** Fields from elsewhere that follow in the same grid. */
  children?: ReactNode;
}) {
  const fields = fieldsFromSchema(schema).filter((field) => !without.includes(field.name));
  if (fields.length === 0 && !children) return null;
  return (
    <div className={styles.grid}>
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          path={[...path, field.name]}
          searched={searched?.has(field.name) ?? false}
        />
      ))}
      {children}
    </div>
  );
}

const SEARCHED = "searched";

function SchemaField({ field, path, searched }: { field: FormField; path: Path; searched: boolean }) {
  const { change } = useForm();
  const empty = field.nullable && !/\bempty\b/i.test(field.description) ? "may be empty" : "";
  const told = [field.description.replace(/\.$/, ""), field.bounds, empty].filter(Boolean).join("; ");
  const description = told && withCode(told);
  const shared = { path, label: field.title, description, fallback: searched ? undefined : field.default };
  const choose = (values: readonly unknown[]) => (
    <ChoiceField
      {...shared}
      choices={[
        ...(searched ? [{ value: "", label: SEARCHED }] : []),
        ...values.map((value) => ({ value: String(value), label: String(value) })),
      ]}
      onChoice={(text) => {
        const value = values.find((choice) => String(choice) === text) ?? (text || undefined);
        change((draft) => withValue(draft, path, value));
      }}
    />
  );
  switch (field.kind) {
    case "number":
    case "integer":
      return (
        <NumberField
          {...shared}
          nullable={field.nullable && !searched}
          placeholder={searched ? SEARCHED : undefined}
        />
      );
    case "mixed":
      return <MixedField {...shared} />;
    case "boolean":
      return searched ? choose([false, true]) : <SwitchField {...shared} />;
    case "choice":
      return choose(field.choices);
    case "text":
      return <TextField {...shared} />;
  }
}
