import type { RunSummary } from "@/lib/client/types.gen";
import { formatJoules } from "@/lib/format/energy";

export interface EnergyText {
  /** Joules in a unit that fits, or a dash. */
  readonly text: string;
  /** What has to be known of them, or why they are missing, in two or three words; may be empty. */
  readonly aside: string;
  /** The whole of it. */
  readonly note: string;
}

const VIRTUAL = "A simulated run has no energy: what the simulation takes says nothing about it.";

/** The energy of the machine of a run, for a cell. */
export function energyText({ energy_j, energy_note, simulated }: RunSummary): EnergyText {
  const note = simulated ? VIRTUAL : (energy_note ?? "");
  const aside = simulated ? "" : (note.split(/[:;]| with /)[0] ?? "");
  return {
    text: typeof energy_j === "number" ? formatJoules(energy_j) : aside ? "" : formatJoules(null),
    aside,
    note,
  };
}
