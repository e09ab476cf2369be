import { isJson, type Json, type Path, textAt } from "@/lib/json/document";
import { type Shape, shapeOf, shapesAt } from "@/lib/yaml/shapes";

/** One setting of a run, and its default as far as there is one. */
export interface RunSetting {
  readonly pointer: string;
  readonly path: Path;
  readonly value: unknown;
}

const escaped = (part: string | number) => String(part).replaceAll("~", "~0").replaceAll("/", "~1");

/** Every setting of a resolved specification, in its order; a list is one, and so is what is empty. */
export function settingsOf(spec: Json, above: Path = []): RunSetting[] {
  return Object.entries(spec).flatMap(([key, value]): RunSetting[] => {
    const path = [...above, key];
    if (isJson(value) && Object.keys(value).length > 0) return settingsOf(value, path);
    return [{ pointer: `/${path.map(escaped).join("/")}`, path, value }];
  });
}

/** What tells defaults: JSON Schemas of an experiment and of the parameters of its methods and workloads. */
export interface Schemas {
  readonly experiment: Shape | undefined;
  readonly algorithms: readonly { name: string; parameters: Json }[];
  readonly workloads: readonly { name: string; parameters: Json }[];
}

/** The schema of an experiment in the description of the API. */
export function experimentIn(description: unknown): Shape | undefined {
  const components = isJson(description) && isJson(description.components) ? description.components : {};
  const defs = isJson(components.schemas) ? components.schemas : {};
  return isJson(defs.ExperimentSpec) ? { schema: defs.ExperimentSpec, defs } : undefined;
}

/** Where a setting of a run stands in an experiment: what each variant has is in the variant. */
function ofExperiment(path: Path): Path {
  return path[0] === "communication" ? ["variants", 0, ...path] : path;
}

/** The default of a setting; undefined: it has none, or none is known. */
export function defaultOf({ path }: RunSetting, spec: Json, schemas: Schemas): unknown {
  const [first, second, ...rest] = path;
  const catalogues: Record<string, Schemas["algorithms"]> = {
    algorithm: schemas.algorithms,
    workload: schemas.workloads,
  };
  const catalogue = catalogues[String(first)];
  if (catalogue) {
    const name = textAt(spec, [String(first), "name"]);
    const found = second === "parameters" ? catalogue.find((one) => one.name === name) : undefined;
    return found && declared(shapesAt(shapeOf(found.parameters), rest));
  }
  return schemas.experiment && declared(shapesAt(schemas.experiment, ofExperiment(path)));
}

const declared = (shapes: readonly Shape[]): unknown =>
  shapes.find(({ schema }) => "default" in schema)?.schema.default;

/** What nothing set. */
const NOTHING: readonly string[] = ["null", "[]", "{}"];

/** Whether a value is the default, by what it contains; where none is known, nothing is. */
export function isDefault(value: unknown, usual: unknown): boolean {
  const text = JSON.stringify(value);
  return usual === undefined ? NOTHING.includes(text) : text === JSON.stringify(usual);
}
