import document from "@examples/comparison.yaml";
import type { Json } from "@/lib/json/document";

/** The example comparison: the very file that the command line runs, read when the dashboard is built. */
export const EXAMPLE: Json = document;
