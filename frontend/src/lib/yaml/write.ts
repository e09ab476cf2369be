import { Document, isMap, isPair, isScalar, isSeq, visit, type YAMLMap, type YAMLSeq } from "yaml";

/** Mappings that are short, in lists, are written in brackets: { lr: 0.1, rho: 0.05 }. */
const SHORT = 72;

/** A document as YAML, in the style of the examples. */
export function yamlOf(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Collection: (_, node, path) => {
      const parent = path.at(-1);
      const listed = isMap(node) && path.some((above) => isSeq(above)) && !isSeq(parent);
      if (isSeq(node) || listed) node.flow = node.items.length === 0 || lengthOf(node) <= SHORT;
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Letters of a collection of scalars; of any other one, too many. */
function lengthOf(node: YAMLMap | YAMLSeq): number {
  let length = 0;
  for (const item of node.items) {
    if (isScalar(item)) length += String(item.value).length + 2;
    else if (isPair(item) && isScalar(item.value))
      length += String(item.key).length + String(item.value.value).length + 4;
    else return Number.POSITIVE_INFINITY;
  }
  return length;
}
