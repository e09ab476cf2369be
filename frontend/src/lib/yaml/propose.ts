import { isJson, type Path, valueAt } from "@/lib/json/document";
import type { Scalar } from "@/lib/spaces/words";
import { type Place, placeAt } from "./place";
import { readLoosely } from "./read";
import { alternatives, isScalar, propertiesOf, type Shape, shapesAt, valuesOf, writingOf } from "./shapes";
import { aboutText, defaultText, kindText, scalarText } from "./words";

/** What may stand where the caret is. */
export interface Proposal {
  readonly label: string;
  /** What replaces the word; the caret then stands `back` letters before its end. */
  readonly insert: string;
  readonly back: number;
  /** Type and default. */
  readonly detail: string;
  /** One line of documentation. */
  readonly about: string;
  /** Whether something may be proposed right behind it. */
  readonly more: boolean;
}

export interface Proposals {
  readonly from: number;
  readonly options: readonly Proposal[];
}

/** A value that may stand at a place, which no schema knows: the name of something that exists. */
export interface Named {
  readonly value: Scalar;
  readonly detail?: string;
  readonly about?: string;
}

/** What is known of a document beside its schema. */
export interface Knowledge {
  readonly root: Shape;
  /** The shape that stands at a place, given what the document says elsewhere. */
  readonly shape: (path: Path, document: unknown) => Shape | undefined;
  readonly named: (path: Path, document: unknown) => readonly Named[] | undefined;
}

/** Keys, or values, that may stand at the caret; undefined where there can be none. */
export function propose(text: string, caret: number, known: Knowledge): Proposals | undefined {
  const place = placeAt(text, caret);
  if (!place) return undefined;
  const document = readLoosely(text);
  const shapes = shapesAt(known.root, place.path, (path) => known.shape(path, document));
  const options =
    place.at === "key" && !isScalarPlace(shapes)
      ? keys(text, caret, place, shapes, document)
      : values(text, place, shapes, known.named(place.path, document));
  return options.length > 0 ? { from: place.from, options } : undefined;
}

/** Whether there are no keys: "- " in a list of scalars, or a value on a line of its own. */
function isScalarPlace(shapes: readonly Shape[]): boolean {
  return shapes.length > 0 && shapes.every((shape) => writingOf(shape) === "scalar");
}

function keys(
  text: string,
  caret: number,
  place: Place,
  shapes: readonly Shape[],
  document: unknown,
): Proposal[] {
  const list = shapes.flatMap((shape) => alternatives(shape)).filter(({ schema }) => schema.type === "array");
  if (list.length > 0 && !place.flow) return members(list, place);
  const there = valueAt(document, place.path);
  const present = new Set(isJson(there) ? Object.keys(there) : []);
  const typed = text.slice(place.from, caret);
  const isKey = /^[\w-]*\s*:/.test(text.slice(caret)); // its colon is there already
  return propertiesOf(shapes)
    .filter(({ name }) => !present.has(name) || name === typed)
    .map(({ name, required, shape }) => ({
      label: name,
      ...(isKey ? { insert: name, back: 0, more: false } : written(name, shape, place)),
      detail: [kindText(shape), defaultText(shape, required)].filter(Boolean).join(" · "),
      about: aboutText(shape, name),
    }));
}

/** In a list by indentation where no dash stands yet: a member with its first key. */
function members(lists: readonly Shape[], place: Place): Proposal[] {
  const items = lists.flatMap(({ schema, defs }) =>
    isJson(schema.items) ? [{ schema: schema.items, defs }] : [],
  );
  return propertiesOf(items).map(({ name, required, shape }) => ({
    label: `- ${name}`,
    ...written(name, shape, { ...place, indent: place.indent + 2 }, "- "),
    detail: [kindText(shape), defaultText(shape, required)].filter(Boolean).join(" · "),
    about: aboutText(shape, name),
  }));
}

/** A key, and what opens its value. */
function written(name: string, shape: Shape, { flow, indent }: Place, before = "") {
  const key = `${before}${name}:`;
  const below = `\n${" ".repeat(indent + 2)}`;
  const writing = writingOf(shape);
  if (writing === "list") return { insert: `${key} []`, back: 1, more: true };
  if (flow) return writing === "mapping" ? { insert: `${key} {  }`, back: 2, more: true } : plain(key);
  if (writing === "mapping") return { insert: key + below, back: 0, more: true };
  if (writing === "list of mappings") return { insert: `${key}${below}- `, back: 0, more: true };
  return plain(key);
}

function plain(key: string) {
  return { insert: `${key} `, back: 0, more: true };
}

function values(
  text: string,
  place: Place,
  shapes: readonly Shape[],
  named: readonly Named[] | undefined,
): Proposal[] {
  const quoted = text[place.from] === '"';
  const option = ({ value, detail = "", about = "" }: Named): Proposal => {
    const insert = scalarText(value, place.flow, quoted);
    return { label: insert, insert, back: 0, detail, about, more: false };
  };
  if (named) return named.map(option);
  const usual = shapes.map(({ schema }) => schema.default).find((value) => isScalar(value) && value !== "");
  const listed = valuesOf(shapes);
  const all = usual === undefined || listed.includes(usual as Scalar) ? listed : [usual as Scalar, ...listed];
  return all.map((value) =>
    option({
      value,
      detail: [value === null && "empty", value === usual && "default"].filter(Boolean).join(", "),
    }),
  );
}
