import { NativeSelect, Switch, Textarea, TextInput, type TextInputProps } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Path } from "@/lib/json/document";
import { numberText, parseNumber } from "@/lib/json/parse-number";
import ui from "@/lib/ui/ui.module.css";
import { useField } from "./form-context";

interface FieldProps {
  path: Path;
  label: string;
  description?: ReactNode;
  /** Shown while the document has no value here. */
  fallback?: unknown;
  /** Where a table's head names the column, the label is for screen readers. */
  labelUnseen?: boolean;
}

const unseen = (hidden: boolean | undefined) => (hidden ? { labelProps: { className: ui.unseen } } : {});

type TextFieldProps = FieldProps & Omit<TextInputProps, "value" | "onChange">;

export function TextField({ path, label, description, fallback, labelUnseen, ...rest }: TextFieldProps) {
  const { value, set, error, control } = useField(path);
  const shown = value ?? fallback;
  return (
    <TextInput
      {...control}
      {...rest}
      {...unseen(labelUnseen)}
      label={label}
      description={description}
      error={error}
      value={typeof shown === "string" ? shown : ""}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

export function LongTextField({ path, label, description }: FieldProps) {
  const { value, set, error, control } = useField(path);
  return (
    <Textarea
      {...control}
      label={label}
      description={description}
      error={error}
      autosize
      minRows={2}
      maxRows={6}
      value={typeof value === "string" ? value : ""}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}

/**
 * A number as people type it, exponents too: 7.2e-6. An empty field leaves the value to its default, or is null
 * where the number is `nullable`.
 */
export function NumberField({
  path,
  label,
  description,
  fallback,
  nullable = false,
  labelUnseen,
  onNumber,
  ...rest
}: FieldProps & { nullable?: boolean; onNumber?: (value: number | null | undefined) => void } & Omit<
    TextInputProps,
    "value" | "onChange"
  >) {
  const { value, set, error, control } = useField(path);
  const [typed, setTyped] = useState<string>();
  const shown = nullable && value === null ? null : (value ?? fallback);
  const current = typeof shown === "number" && !Number.isNaN(shown) ? numberText(shown) : "";
  const read = (text: string) => parseNumber(text) ?? (nullable ? null : undefined);
  const agrees =
    typed !== undefined && (Object.is(read(typed), value) || (value === null && Number.isNaN(read(typed))));
  const wrong = typed !== undefined && Number.isNaN(parseNumber(typed)) ? "Not a number." : undefined;
  return (
    <TextInput
      {...control}
      {...rest}
      {...unseen(labelUnseen)}
      label={label}
      description={description}
      error={wrong ?? error}
      inputMode="decimal"
      autoComplete="off"
      value={agrees ? typed : current}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        (onNumber ?? set)(read(event.currentTarget.value));
      }}
    />
  );
}

function readMixed(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** A number or a word: what reads as a number is one. An empty field leaves the value to its default. */
export function MixedField({ path, label, description, fallback }: FieldProps) {
  const { value, set, error, control } = useField(path);
  const [typed, setTyped] = useState<string>();
  const current = String(value ?? fallback ?? "");
  const agrees = typed !== undefined && readMixed(typed) === value;
  return (
    <TextInput
      {...control}
      label={label}
      description={description}
      error={error}
      autoComplete="off"
      value={agrees ? typed : current}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        set(readMixed(event.currentTarget.value));
      }}
    />
  );
}

function readNumbers(text: string): number[] | undefined {
  const words = text.split(",").filter((word) => word.trim() !== "");
  return words.length === 0 ? undefined : words.map((word) => parseNumber(word) ?? Number.NaN);
}

/** Numbers between commas. An empty field leaves the value to its default. */
export function NumbersField({ path, label, description, fallback }: FieldProps) {
  const { value, set, error, control } = useField(path);
  const [typed, setTyped] = useState<string>();
  const listed = (numbers: unknown) => (Array.isArray(numbers) ? numbers.join(", ") : "");
  const wrong = readNumbers(typed ?? "")?.some(Number.isNaN) ? "One of these is not a number." : undefined;
  const agrees = typed !== undefined && (wrong || listed(readNumbers(typed)) === listed(value));
  return (
    <TextInput
      {...control}
      label={label}
      description={description}
      error={wrong ?? error}
      autoComplete="off"
      value={agrees ? typed : listed(value ?? fallback)}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        set(readNumbers(event.currentTarget.value));
      }}
    />
  );
}

interface ChoiceFieldProps extends FieldProps {
  choices: readonly { value: string; label: string }[];
  onChoice?: (value: string) => void;
  size?: "xs" | "sm";
}

export function ChoiceField({
  path,
  label,
  description,
  fallback,
  choices,
  onChoice,
  labelUnseen,
  size,
}: ChoiceFieldProps) {
  const { value, set, error, control } = useField(path);
  const current = String(value ?? fallback ?? "");
  const known = choices.some((choice) => choice.value === current);
  return (
    <NativeSelect
      {...control}
      {...unseen(labelUnseen)}
      size={size}
      label={label}
      description={description}
      error={error}
      data={known ? [...choices] : [{ value: current, label: current || "choose" }, ...choices]}
      value={current}
      onChange={(event) => (onChoice ?? set)(event.currentTarget.value)}
    />
  );
}

export function SwitchField({ path, label, description, fallback, mt }: FieldProps & { mt?: number }) {
  const { value, set, error, control } = useField(path);
  return (
    <Switch
      {...control}
      mt={mt}
      label={label}
      description={description}
      error={error}
      checked={(value ?? fallback) === true}
      onChange={(event) => set(event.currentTarget.checked)}
    />
  );
}
