declare module "*.yaml" {
  const document: Record<string, unknown>;
  export default document;
}
