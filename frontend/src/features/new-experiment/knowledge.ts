import type { AlgorithmList, ClusterView, WorkloadView } from "@/lib/client/types.gen";
import { isJson, type Json, objectsAt, type Path, textAt, valueAt } from "@/lib/json/document";
import type { Knowledge, Named } from "@/lib/yaml/propose";
import { type Shape, shapeOf, shapesAt } from "@/lib/yaml/shapes";

export interface Catalogues {
  readonly algorithms: AlgorithmList;
  readonly workloads: readonly WorkloadView[];
  readonly clusters: readonly ClusterView[];
}

/** Whether a place is of this form; `*` is any key, and any number. */
function isAt(path: Path, form: string): boolean {
  const parts = form.split("/");
  return parts.length === path.length && parts.every((part, i) => part === "*" || part === String(path[i]));
}

/** Of an experiment: its schema, and at their places the parameters and names of what the service offers. */
export function knowledgeOf(root: Shape, { algorithms, workloads, clusters }: Catalogues): Knowledge {
  const algorithmAt = (document: unknown, path: Path) =>
    algorithms.items.find(({ name }) => name === textAt(document, [...path.slice(0, 2), "algorithm"]));
  const workloadOf = (document: unknown) =>
    workloads.find(({ name }) => name === textAt(document, ["workload", "name"]));

  const shape = (path: Path, document: unknown): Shape | undefined => {
    if (isAt(path, "workload/parameters") || isAt(path, "variants/*/workload_settings")) {
      const found = workloadOf(document);
      return found && shapeOf(found.parameters);
    }
    const parameters = algorithmAt(document, path)?.parameters;
    if (!parameters) return undefined;
    if (isAt(path, "variants/*/parameters")) return shapeOf(parameters);
    if (isAt(path, "variants/*/sweep")) return each(parameters, (one) => ({ type: "array", items: one }));
    if (isAt(path, "variants/*/search")) return spaces(root, path, parameters);
    return undefined;
  };

  const named = (path: Path, document: unknown): readonly Named[] | undefined => {
    if (isAt(path, "workload/name"))
      return workloads.map(({ name, title }) => ({ value: name, about: title }));
    if (isAt(path, "variants/*/algorithm"))
      return algorithms.items.map(({ name, title, family }) => ({
        value: name,
        detail: family,
        about: title,
      }));
    if (isAt(path, "baseline"))
      return objectsAt(document, ["variants"]).map((variant) => ({ value: textAt(variant, ["name"]) }));
    if (isAt(path, "tuning/cluster"))
      return objectsAt(document, ["clusters"]).map((cluster) => ({ value: textAt(cluster, ["name"]) }));
    if (
      ["clusters/*/name", "clusters/*/computed_on", "clusters/*/virtual/like"].some((form) =>
        isAt(path, form),
      )
    )
      return clusters.map(({ name, cores, online }) => ({
        value: name,
        detail: `${cores} cores${online ? "" : ", offline"}`,
      }));
    return undefined;
  };
  return { root, shape, named };
}

/** The parameters of a method, each with another shape that keeps its title and description. */
function each(parameters: Json, shape: (parameter: Json) => Json): Shape {
  const all = isJson(parameters.properties) ? Object.entries(parameters.properties) : [];
  const properties = all.flatMap(([name, parameter]) => {
    if (!isJson(parameter)) return [];
    const { title, description } = parameter;
    return [[name, { ...shape(parameter), title, description }] as const];
  });
  return shapeOf({ type: "object", properties: Object.fromEntries(properties), $defs: parameters.$defs });
}

/** Search spaces of parameters: their names are those of the method, the rest is that of the specification. */
function spaces(root: Shape, path: Path, parameters: Json): Shape | undefined {
  const [space] = shapesAt(root, [...path, "*"]);
  if (!space) return undefined;
  const { schema } = each(parameters, () => space.schema);
  return { schema, defs: space.defs };
}

/** The schema of an experiment in the document that describes the whole API. */
export function schemaIn(document: unknown): Shape | undefined {
  const defs = valueAt(document, ["components", "schemas"]);
  if (!isJson(defs) || !isJson(defs.ExperimentSpec)) return undefined;
  return { schema: defs.ExperimentSpec, defs };
}
