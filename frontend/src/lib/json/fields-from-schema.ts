import type { Space } from "@/lib/client/types.gen";
import { isJson, type Json } from "./document";
import { numberText } from "./parse-number";

/** One control of a flat form, as a JSON Schema describes it. */
export interface FormField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** `mixed`: a number or a word, such as 4 or "group"; `numbers`: a list. */
  readonly kind: "number" | "integer" | "boolean" | "choice" | "text" | "mixed" | "numbers";
  /** The heading under which it is folded away; empty where it is always shown. */
  readonly group: string;
  /** An empty field is null, which is not the same as its default. */
  readonly nullable: boolean;
  readonly choices: readonly (string | number)[];
  readonly default: unknown;
  /** Such as "> 0, at most 10"; empty where nothing bounds it. */
  readonly bounds: string;
  /** Numbers beyond these are refused; undefined where nothing bounds it. */
  readonly least: number | undefined;
  readonly greatest: number | undefined;
  /** The space in which a search should begin, where one is proposed. */
  readonly space?: Space;
}

/** Follow a $ref into $defs, and look through the null of an optional field. */
function resolve(property: Json, root: Json): Json {
  const reference = typeof property.$ref === "string" ? property.$ref.split("/").pop() : undefined;
  const definitions = isJson(root.$defs) ? root.$defs : {};
  const target = reference === undefined ? undefined : definitions[reference];
  if (isJson(target)) return { ...resolve(target, root), ...property };
  if (Array.isArray(property.anyOf)) {
    const branches = property.anyOf.filter(isJson).filter((branch) => branch.type !== "null");
    const [only] = branches;
    if (only && branches.length === 1) return { ...resolve(only, root), ...property };
  }
  return property;
}

function branchesOf(property: Json): Json[] {
  return Array.isArray(property.anyOf) ? property.anyOf.filter(isJson) : [];
}

function kindOf(property: Json): FormField["kind"] {
  const types = branchesOf(property).map((branch) => branch.type);
  if (types.includes("string") && (types.includes("integer") || types.includes("number"))) return "mixed";
  if (Array.isArray(property.enum) || "const" in property) return "choice";
  const type = property.type;
  const item = type === "array" && isJson(property.items) ? property.items.type : undefined;
  if (item === "number" || item === "integer") return "numbers";
  return type === "number" || type === "integer" || type === "boolean" ? type : "text";
}

function choicesOf(property: Json): (string | number)[] {
  const values: unknown[] = Array.isArray(property.enum)
    ? property.enum
    : "const" in property
      ? [property.const]
      : [];
  return values.filter((value) => typeof value === "string" || typeof value === "number");
}

function boundsOf(property: Json): string {
  const word = (key: string, before: string) => {
    const bound = property[key];
    return typeof bound === "number" ? [`${before}${numberText(bound)}`] : [];
  };
  const { minimum, maximum } = property;
  if (typeof minimum === "number" && typeof maximum === "number") {
    return `${numberText(minimum)} to ${numberText(maximum)}`;
  }
  return [
    ...word("exclusiveMinimum", ">\u00a0"),
    ...word("minimum", "at least "),
    ...word("exclusiveMaximum", "<\u00a0"),
    ...word("maximum", "at most "),
  ].join(", ");
}

/** A bound that may be taken, or a number just inside one that may not. */
function limitOf(property: Json, inclusive: "minimum" | "maximum", inside: (bound: number) => number) {
  const bound = property[inclusive];
  if (typeof bound === "number") return bound;
  const beyond = property[inclusive === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"];
  return typeof beyond === "number" ? inside(beyond) : undefined;
}

/** The controls of a flat JSON Schema, in its order; an empty list for anything that is no object schema. */
export function fieldsFromSchema(schema: unknown): FormField[] {
  if (!isJson(schema) || !isJson(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([name, raw]) => {
    if (!isJson(raw)) return [];
    const property = resolve(raw, schema);
    return {
      name,
      nullable: raw.type === "null" || branchesOf(raw).some((branch) => branch.type === "null"),
      title: typeof property.title === "string" ? property.title : name,
      description: typeof property.description === "string" ? property.description : "",
      kind: kindOf(property),
      group: typeof property.group === "string" ? property.group : "",
      choices: choicesOf(property),
      default: property.default,
      bounds: boundsOf(property),
      least: limitOf(property, "minimum", (bound) => bound + Math.max(1e-6, Math.abs(bound) * 0.01)),
      greatest: limitOf(property, "maximum", (bound) => bound - Math.max(1e-6, Math.abs(bound) * 0.01)),
      ...(isJson(property.space) ? { space: property.space as Space } : {}),
    };
  });
}

/** "Optional, 0 to 2; overrides rho", or "Step length; > 0". */
export function describe({ nullable, description, bounds }: FormField): string {
  const said = description.replace(/\.$/, "");
  if (!nullable || /\bempty\b/i.test(said)) return [said, bounds].filter(Boolean).join("; ");
  const rest = /^[A-Z][a-z]/.test(said) ? said.charAt(0).toLowerCase() + said.slice(1) : said;
  return [["Optional", bounds].filter(Boolean).join(", "), rest].filter(Boolean).join("; ");
}
