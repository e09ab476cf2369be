import type { Space } from "@/lib/client/types.gen";

/** Spaces to replace those of a variant with. */
export interface Wider {
  variant: string;
  spaces: Record<string, Space>;
}

/** From what the form starts: nothing, the example, a method to try, or an experiment to clone; with wider spaces, to continue. */
export interface NewExperimentSearch {
  clone?: string;
  example?: boolean;
  /** A method to try: compared with a common one. */
  algorithm?: string;
  /** An experiment that gets further variants, instead of a new one. */
  extend?: string;
  wider?: Wider[];
  /** The project that it is meant for. */
  project?: string;
  /** The form, or the whole as text. */
  as?: "yaml";
}

export function newExperimentSearch({
  clone,
  example,
  algorithm,
  extend,
  wider,
  project,
  as,
}: Record<string, unknown>): NewExperimentSearch {
  return {
    clone: typeof clone === "string" && clone ? clone : undefined,
    example: example === true ? true : undefined,
    algorithm: typeof algorithm === "string" && algorithm ? algorithm : undefined,
    extend: typeof extend === "string" && extend ? extend : undefined,
    wider: Array.isArray(wider) && wider.length > 0 && wider.every(isWider) ? wider : undefined,
    project: typeof project === "string" && project ? project : undefined,
    as: as === "yaml" ? as : undefined,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether it has the shape; what is in the spaces is for the server to judge. */
function isWider(value: unknown): value is Wider {
  if (!isRecord(value) || typeof value.variant !== "string") return false;
  return isRecord(value.spaces) && Object.values(value.spaces).every(isRecord);
}
