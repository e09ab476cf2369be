import type { ReactNode } from "react";
import type { Path } from "@/lib/json/document";
import { isJson, pointerOf, valueAt, withValue } from "@/lib/json/document";
import { describe, type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { withCode } from "@/lib/ui/code";
import { ChoiceField, MixedField, NumberField, NumbersField, SwitchField, TextField } from "./fields";
import styles from "./form.module.css";
import { useForm } from "./form-context";

/**
 * A flat form made from a JSON Schema; it writes into the document below `path`. Fields of a group are folded away
 * below the others.
 */
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
  const groups = [...new Set(fields.map((field) => field.group))].filter(Boolean);
  const control = (field: FormField) => (
    <SchemaField
      key={field.name}
      field={field}
      path={[...path, field.name]}
      searched={searched?.has(field.name) ?? false}
    />
  );
  return (
    <>
      <div className={styles.grid}>
        {fields.filter((field) => !field.group).map(control)}
        {children}
      </div>
      {groups.map((group) => {
        const members = fields.filter((field) => field.group === group);
        return (
          <FieldGroup key={group} group={group} members={members} path={path}>
            {members.map(control)}
          </FieldGroup>
        );
      })}
    </>
  );
}

/** Fields that are folded away until one has a value or a fault; the summary names those with a value. */
function FieldGroup({
  group,
  members,
  path,
  children,
}: {
  group: string;
  members: readonly FormField[];
  path: Path;
  children: ReactNode;
}) {
  const { draft, faults } = useForm();
  const values = valueAt(draft, path);
  const given = isJson(values) ? members.filter(({ name }) => name in values) : [];
  const wrong = members.some(({ name }) => faults.has(pointerOf([...path, name])));
  return (
    <details className={styles.details} data-testid="field-group" open={wrong || undefined}>
      <summary>
        {group}
        {given.length > 0 && `: ${given.map(({ title }) => title.toLowerCase()).join(", ")}`}
      </summary>
      <div className={styles.grid}>{children}</div>
    </details>
  );
}

const SEARCHED = "searched";

function SchemaField({ field, path, searched }: { field: FormField; path: Path; searched: boolean }) {
  const { change } = useForm();
  const told = describe(field);
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
    case "numbers":
      return <NumbersField {...shared} />;
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
