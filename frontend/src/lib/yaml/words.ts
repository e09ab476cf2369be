import { stringify } from "yaml";
import { isJson } from "@/lib/json/document";
import type { Scalar } from "@/lib/spaces/words";
import { alternatives, fieldOf, isScalar, type Shape, takesNull, writingOf } from "./shapes";

const KINDS: Readonly<Record<string, string>> = {
  number: "number",
  integer: "integer",
  boolean: "true or false",
  text: "text",
  mixed: "number or word",
  numbers: "list of numbers",
};
/** Values are listed up to so many. */
const FEW = 3;

/** A scalar as it is written in YAML; in brackets, or after an opening quote, with quotes where it needs them. */
export function scalarText(value: Scalar, flow: boolean, quoted = false): string {
  if (quoted) return JSON.stringify(String(value));
  const text = stringify(value, { lineWidth: 0 }).trimEnd();
  if (flow && typeof value === "string" && /[,[\]{}]/.test(text)) return JSON.stringify(value);
  return text;
}

/** "integer, 1 to 65536", "iid or disjoint", "mapping". */
export function kindText(shape: Shape): string {
  const writing = writingOf(shape);
  if (writing !== "scalar") return writing;
  const field = fieldOf(shape);
  if (!field) return "";
  const kind =
    field.kind === "choice" || field.choices.length > 0
      ? choicesText(field.choices)
      : (KINDS[field.kind] ?? "");
  return [kind, field.bounds.replaceAll("\u00a0", " ")].filter(Boolean).join(", ");
}

function choicesText(choices: readonly (string | number)[]): string {
  if (choices.length > FEW) return `one of ${choices.length} words`;
  return choices.join(" or ");
}

/** "default 32", "required", "optional". */
export function defaultText(shape: Shape, required: boolean): string {
  if (required) return "required";
  const value = shape.schema.default;
  if (isScalar(value) && value !== null && value !== "") return `default ${scalarText(value, false)}`;
  if (Array.isArray(value) && value.length > 0 && value.every(isScalar))
    return `default [${value.join(", ")}]`;
  return takesNull(shape) ? "optional" : "";
}

/** The first sentence of the documentation; without one, the title, unless that is the name again. */
export function aboutText(shape: Shape, name: string): string {
  const own = fieldOf(shape, name);
  const said = own?.description || describedBy(shape);
  if (said) return (/^.*?[.;](?=\s|$)/s.exec(said)?.[0] ?? said).replace(/\s+/g, " ").replace(/;$/, ".");
  const title = own?.title ?? "";
  return title.toLowerCase() === name.replaceAll("_", " ").toLowerCase() ? "" : title;
}

/** Of a list, what its members are. */
function describedBy(shape: Shape): string {
  const [list] = alternatives(shape).filter(({ schema }) => schema.type === "array");
  if (!list || !isJson(list.schema.items)) return "";
  return fieldOf({ schema: list.schema.items, defs: list.defs })?.description ?? "";
}
