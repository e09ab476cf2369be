import text from "@docs/algorithms.json?raw";

/** A run of a method in virtual time; times are thousandths of the mean time of a gradient. */
export interface Drawn {
  /** The parameters that are not its defaults. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** "worker 0", "server", "shared center". */
  readonly rows: readonly string[];
  readonly end: number;
  /** Of each rank: phase, beginning, end. */
  readonly phases: readonly (readonly (readonly [number, number, number])[])[];
  /** From, to (rows), beginning, end, bytes. */
  readonly messages: readonly (readonly [number, number, number, number, number])[];
}

/** What a local step of a worker moves with the defaults, mean over many. */
export interface Price {
  /** Of a worker, in vectors of all weights. */
  readonly payload: number;
  /** Of all workers together: vectors of all weights, and messages. */
  readonly wire: number;
  readonly messages: number;
  /** The time of the messages, one after the other, in A and in |W| B. */
  readonly latencies: number;
  readonly volumes: number;
  /** What hides them: "nothing", "gradient", "period", or a number of steps. */
  readonly behind: readonly string[];
}

export interface Figures {
  readonly drawn: Drawn | { readonly reason: string };
  /** By the number of workers; null: the class claims nothing. */
  readonly prices: Readonly<Record<string, Price>> | null;
  /** By the number of workers: parameters of the moving rate, and below what they are stable without gradients. */
  readonly bounds: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
}

interface Content {
  readonly phases: readonly string[];
  /** Bytes of all weights in the runs that are drawn. */
  readonly weights: number;
  readonly methods: Readonly<Record<string, Figures>>;
}

const CONTENT = JSON.parse(text) as Content;
export const PHASE_NAMES = CONTENT.phases;
export const WEIGHT_BYTES = CONTENT.weights;

/** What the runs and claims of a built-in method say; undefined of any other. */
export function figuresOf(algorithm: string): Figures | undefined {
  return CONTENT.methods[algorithm];
}

/** Workers for which prices and bounds are known. */
export const COUNTS = [2, 4, 8, 16, 32];

export const METHODS = Object.keys(CONTENT.methods);
