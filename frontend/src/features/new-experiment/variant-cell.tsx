import { TextInput } from "@mantine/core";
import { useState } from "react";
import { valueAt } from "@/lib/json/document";
import type { FormField } from "@/lib/json/fields-from-schema";
import { useField, useForm } from "./form-context";
import { cellText, cellValue, differs, givenTo, withCell } from "./grid";
import { sweepOf } from "./sweeps";
import own from "./variants.module.css";

interface CellProps {
  index: number;
  field: FormField;
  /** What is seen of a parameter that is given nothing. */
  otherwise: string;
  /** Told while it has the focus, so that its column stays. */
  held: (name: string | undefined) => void;
}

/** A parameter of a variant in its column: empty for the default, and several values between commas sweep it. */
export function VariantCell({ index, field, otherwise, held }: CellProps) {
  const { draft, change } = useForm();
  const variant = valueAt(draft, ["variants", index]);
  const place = field.name in sweepOf(variant) ? "sweep" : "parameters";
  const { error, control } = useField(["variants", index, place, field.name]);
  const [typed, setTyped] = useState<string>();
  const given = givenTo(variant, field.name);
  const current = cellText(given);
  const agrees = typed !== undefined && cellText(cellValue(typed, field, given)) === current;
  const choices = field.kind === "boolean" ? [false, true] : field.choices;
  const list = choices.length > 0 ? `choices${control.id}` : undefined;
  return (
    <>
      <TextInput
        {...control}
        size="xs"
        aria-label={field.title}
        title={field.bounds || undefined}
        placeholder={otherwise}
        error={Boolean(error)}
        list={list}
        autoComplete="off"
        classNames={{ input: differs(variant, field) ? own.own : own.cell }}
        value={agrees ? typed : current}
        onFocus={() => held(field.name)}
        onBlur={() => held(undefined)}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          change((old) => withCell(old, index, field.name, cellValue(text, field, given)));
        }}
      />
      {list && (
        <datalist id={list}>
          {choices.map((choice) => (
            <option key={String(choice)} value={String(choice)} />
          ))}
        </datalist>
      )}
    </>
  );
}
