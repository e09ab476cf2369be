import { isJson, type Json, type Path } from "@/lib/json/document";
import { type FormField, fieldsFromSchema } from "@/lib/json/fields-from-schema";
import type { Scalar } from "@/lib/spaces/words";

/** A JSON Schema and the definitions that it may refer to. */
export interface Shape {
  readonly schema: Json;
  readonly defs: Json;
}

/** A shape that stands at a place instead of what the schema around it says; undefined: there is none. */
export type Instead = (path: Path) => Shape | undefined;

/** A schema with its own `$defs`. */
export function shapeOf(schema: Json): Shape {
  return { schema, defs: isJson(schema.$defs) ? schema.$defs : {} };
}

/** Follow references and alternatives; null is no alternative. */
export function alternatives({ schema, defs }: Shape, depth = 0): Shape[] {
  if (depth > 8) return [];
  const name = typeof schema.$ref === "string" ? schema.$ref.split("/").pop() : undefined;
  if (name !== undefined) {
    const target = defs[name];
    return isJson(target) ? alternatives({ schema: target, defs }, depth + 1) : [];
  }
  const branches = [schema.anyOf, schema.oneOf].filter(Array.isArray).flat().filter(isJson);
  if (branches.length > 0)
    return branches.flatMap((branch) => alternatives({ schema: branch, defs }, depth + 1));
  return schema.type === "null" ? [] : [{ schema, defs }];
}

/** Whether null may stand there. */
export function takesNull({ schema }: Shape): boolean {
  const branches = [schema.anyOf, schema.oneOf].filter(Array.isArray).flat().filter(isJson);
  return schema.type === "null" || branches.some((branch) => branch.type === "null");
}

/** What one key of a mapping, or a member of a list, may be. */
function inner(shape: Shape, key: string | number): Shape[] {
  return alternatives(shape).flatMap(({ schema, defs }) => {
    const found =
      typeof key === "number"
        ? schema.items
        : isJson(schema.properties) && Object.hasOwn(schema.properties, key)
          ? schema.properties[key]
          : schema.additionalProperties;
    return isJson(found) ? [{ schema: found, defs }] : [];
  });
}

/** What may stand at a place of a document, as it is written in the schema: with title, description and default. */
export function shapesAt(root: Shape, path: Path, instead: Instead = () => undefined): Shape[] {
  let shapes = [root];
  for (const [i, key] of path.entries()) {
    const other = instead(path.slice(0, i + 1));
    shapes = other ? [other] : shapes.flatMap((shape) => inner(shape, key));
  }
  return shapes;
}

export interface Property {
  readonly name: string;
  readonly required: boolean;
  readonly shape: Shape;
}

/** The keys of a mapping, the required ones first. */
export function propertiesOf(shapes: readonly Shape[]): Property[] {
  return shapes
    .flatMap((shape) => alternatives(shape))
    .flatMap(({ schema, defs }) => {
      const properties = isJson(schema.properties) ? schema.properties : {};
      const required = (Array.isArray(schema.required) ? schema.required : []).map(String);
      const names = [...required, ...Object.keys(properties).filter((name) => !required.includes(name))];
      return names.flatMap((name) => {
        const property = properties[name];
        if (!isJson(property)) return [];
        return [{ name, required: required.includes(name), shape: { schema: property, defs } }];
      });
    });
}

/** What is written there: a mapping, a list, a list of mappings, or a scalar. */
export function writingOf(shape: Shape): "mapping" | "list" | "list of mappings" | "scalar" {
  const all = alternatives(shape);
  const one = all.find(({ schema }) => schema.type === "object" || schema.type === "array");
  if (!one) return "scalar";
  if (one.schema.type === "object") return "mapping";
  const items = isJson(one.schema.items) ? alternatives({ schema: one.schema.items, defs: one.defs }) : [];
  return items.some(({ schema }) => schema.type === "object") ? "list of mappings" : "list";
}

/** Every value that the schema names. */
export function valuesOf(shapes: readonly Shape[]): Scalar[] {
  const named = shapes.flatMap((shape) =>
    alternatives(shape).flatMap(({ schema }): unknown[] => {
      if (Array.isArray(schema.enum)) return schema.enum;
      if ("const" in schema) return [schema.const];
      return schema.type === "boolean" ? [true, false] : [];
    }),
  );
  const empty = shapes.some(takesNull) ? [null] : [];
  return [...new Set([...named.filter(isScalar), ...empty])];
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** The same as a field of a form. */
export function fieldOf({ schema, defs }: Shape, name = ""): FormField | undefined {
  return fieldsFromSchema({ properties: { [name]: schema }, $defs: defs })[0];
}
