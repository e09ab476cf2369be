import type { AlgorithmList, AlgorithmView } from "@/lib/client/types.gen";
import { settingValue } from "@/lib/format/settings";
import { isJson, type Json, objectsAt, textAt, valueAt, withValue } from "@/lib/json/document";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import { numberText, parseNumber } from "@/lib/json/parse-number";
import type { Scalar } from "@/lib/spaces/words";
import { choicesFrom, free, tunes } from "./searched";
import { countOf, sweepOf, withSweep } from "./sweeps";

const MOST = 5; // columns that appear by themselves; the values of others are named in the row

export interface Column {
  readonly name: string;
  readonly title: string;
}

const READ = new WeakMap<AlgorithmView, FormField[]>(); // every key renders all rows

/** The parameters of a variant's method that one line of text can hold. */
function cellsOf(variant: unknown, algorithms: readonly AlgorithmView[]): FormField[] {
  const known = algorithms.find(({ name }) => name === textAt(variant, ["algorithm"]));
  if (!known) return [];
  const before = READ.get(known);
  if (before) return before;
  const fields = fieldsFromSchema(known.parameters).filter(({ kind }) => kind !== "numbers");
  READ.set(known, fields);
  return fields;
}

/** The field of a variant in a column, if its method has one. */
export function fieldIn(
  variant: unknown,
  name: string,
  algorithms: readonly AlgorithmView[],
): FormField | undefined {
  return cellsOf(variant, algorithms).find((field) => field.name === name);
}

/** What a variant gives a parameter: the values of a sweep, or one; undefined is its default. */
export function givenTo(variant: unknown, name: string): unknown {
  return sweepOf(variant)[name] ?? valueAt(variant, ["parameters", name]);
}

export function differs(variant: unknown, field: FormField): boolean {
  const given = givenTo(variant, field.name);
  return given !== undefined && JSON.stringify(given) !== JSON.stringify(field.default);
}

/** Every parameter that could be a column, in the order in which variants have them. */
export function possibleColumns(draft: Json, algorithms: readonly AlgorithmView[]): Column[] {
  const found = new Map<string, Column>();
  for (const variant of objectsAt(draft, ["variants"])) {
    for (const { name, title } of cellsOf(variant, algorithms)) {
      if (!found.has(name)) found.set(name, { name, title });
    }
  }
  return [...found.values()];
}

/** The columns: parameters in which any variant differs from its default, at most `MOST`, and those asked for. */
export function columnsOf(
  draft: Json,
  algorithms: readonly AlgorithmView[],
  asked: readonly string[],
): Column[] {
  const variants = objectsAt(draft, ["variants"]);
  const differing = ({ name }: Column) =>
    variants.some((variant) => {
      const field = fieldIn(variant, name, algorithms);
      return field !== undefined && differs(variant, field);
    });
  const possible = possibleColumns(draft, algorithms);
  const own = possible.filter((column) => !asked.includes(column.name) && differing(column)).slice(0, MOST);
  return possible.filter((column) => asked.includes(column.name) || own.includes(column));
}

/** A value, or several, as they are typed into a cell; empty where the default holds. */
export function cellText(given: unknown): string {
  if (Array.isArray(given)) return given.map(cellText).join(", ");
  if (given === null) return "empty";
  return typeof given === "number" ? numberText(given) : String(given ?? "");
}

/** A number as much of Europe writes it: read as a sweep, it would be two other numbers. */
const DECIMAL_COMMA = /^\s*[-+]?0,\d+\s*$/;

/**
 * What is typed into a cell: one value, several of a sweep, or undefined for the default. A comma is part of a text,
 * unless several are there already.
 */
export function cellValue(text: string, { kind }: FormField, given?: unknown): unknown {
  if (kind === "text" && !Array.isArray(given)) return text === "" ? undefined : text;
  if (kind === "number" && DECIMAL_COMMA.test(text)) return Number.NaN;
  const words = text.split(",").filter((word) => word.trim() !== "");
  if (kind === "text") return words.length > 1 ? words.map((word) => word.trim()) : words[0]?.trim();
  const numeric = kind === "number" || kind === "integer";
  const values = words.flatMap((word): unknown[] => {
    const [choice] = choicesFrom(word);
    return numeric && choice !== null ? [parseNumber(word)] : [choice];
  });
  return values.length > 1 ? values : values[0];
}

/** Give a parameter of a variant what a cell holds: several values sweep it. */
export function withCell(draft: Json, index: number, name: string, given: unknown): Json {
  if (Array.isArray(given)) return withSweep(draft, index, name, given as Scalar[]);
  const single = withSweep(draft, index, name, undefined);
  if (given === undefined && !isJson(valueAt(single, ["variants", index, "parameters"]))) return single;
  return withValue(single, ["variants", index, "parameters", name], given);
}

/** What else a variant says, in short: everything that is no default and has no column. */
export function wordsOf(
  draft: Json,
  index: number,
  known: AlgorithmView | undefined,
  columns: readonly Column[],
  communication?: AlgorithmList["communication"],
): string[] {
  const variant = valueAt(draft, ["variants", index]);
  const usual = new Map(fieldsFromSchema(communication).map((field) => [field.name, field.default]));
  const shown = columns.map(({ name }) => name);
  const hidden = fieldsFromSchema(known?.parameters).filter(({ name }) => !shown.includes(name));
  const searched =
    known && tunes(draft) ? [...free(variant, known)].filter((name) => !given(variant, name)) : [];
  const count = countOf(variant);
  return [
    ...(count === 1 ? [] : [`${count} variants`]),
    ...hidden
      .filter((field) => differs(variant, field))
      .map(({ name, title }) => `${title.toLowerCase()} ${cellText(givenTo(variant, name))}`),
    ...["workload_settings", "communication"].flatMap((part) => {
      const settings = valueAt(variant, [part]);
      return Object.entries(isJson(settings) ? settings : {})
        .filter(([name, value]) => part !== "communication" || !same(value, usual.get(name)))
        .map(([name, value]) => `${name.replaceAll("_", " ")} ${settingValue(value)}`);
    }),
    ...(searched.length > 0 ? [`${searched.length} searched`] : []),
  ];
}

const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);

function given(variant: unknown, name: string): boolean {
  return givenTo(variant, name) !== undefined;
}
