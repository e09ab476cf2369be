/** From what the form starts: nothing, the example, or an experiment to clone. */
export interface NewExperimentSearch {
  clone?: string;
  example?: boolean;
}

export function newExperimentSearch({ clone, example }: Record<string, unknown>): NewExperimentSearch {
  return {
    clone: typeof clone === "string" && clone ? clone : undefined,
    example: example === true ? true : undefined,
  };
}
