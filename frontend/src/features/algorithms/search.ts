/** What of an algorithm's page was chosen; all of it is in the URL. */
export interface AlgorithmSearch {
  /** The network of the cost model, by its key; otherwise the first. */
  network?: string;
  /** The number of workers of the stability bounds; otherwise 4. */
  workers?: number;
}

export function algorithmSearch({ network, workers }: Record<string, unknown>): AlgorithmSearch {
  return {
    network: typeof network === "string" && network !== "" ? network : undefined,
    workers: typeof workers === "number" && Number.isInteger(workers) && workers > 0 ? workers : undefined,
  };
}

/** What is looked for among the algorithms. */
export interface AlgorithmsSearch {
  find?: string;
}

export function algorithmsSearch({ find }: Record<string, unknown>): AlgorithmsSearch {
  const text = typeof find === "string" || typeof find === "number" ? String(find) : "";
  return { find: text || undefined };
}
