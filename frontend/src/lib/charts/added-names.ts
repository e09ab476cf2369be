/** The parts of a list of charts, a metric and perhaps an axis each; what cannot be one is left out. */
export function furtherOf(more: string | undefined): readonly string[] {
  return (more ?? "").split(".").filter((part) => /^[a-z][a-z0-9_]{0,39}(-[a-z]+)?$/.test(part));
}
