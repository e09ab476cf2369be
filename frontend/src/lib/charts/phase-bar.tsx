import { formatPercent } from "@/lib/format/numbers";
import { PHASES, type Phase, phasesIn } from "@/lib/theme/palette";
import styles from "./phase-bar.module.css";

/** Where wall time went, as one stacked bar: shares of a whole, in the order of the key. */
export function PhaseBar({ shares, label }: { shares: Partial<Record<string, number>>; label: string }) {
  const whole = PHASES.reduce((sum, phase) => sum + (shares[phase] ?? 0), 0);
  const parts = PHASES.filter((phase) => whole > 0 && (shares[phase] ?? 0) > 0);
  const words = parts.map((phase) => `${phase} ${formatPercent((shares[phase] ?? 0) / whole)}`).join(", ");
  return (
    <div className={styles.row} role="img" aria-label={`${label}: ${words || "nothing measured yet"}`}>
      {parts.map((phase) => {
        const share = (shares[phase] ?? 0) / whole;
        return (
          <span
            key={phase}
            className={`${styles.part} ${styles[phase]}`}
            style={{ width: `${share * 100}%` }}
            title={`${phase} ${formatPercent(share)}`}
          />
        );
      })}
    </div>
  );
}

const MEANINGS: Record<Phase, string> = {
  data: "Selecting a batch and moving it to the device",
  compute: "Forward and backward",
  rebuild: "Building the hash tables of a wide output layer",
  communicate: "Blocked inside the communicator",
  update: "Vector arithmetic of the algorithm",
  evaluate: "Scoring the center; not on the clock",
  idle: "Waiting for requests or work, and the loop's own bookkeeping",
};

/** Of communication that ran behind compute. */
export const HIDDEN = "color-mix(in srgb, var(--phase-communicate) 50%, var(--phase-compute))";

const USUAL = phasesIn([]);

interface PhaseKeyProps {
  /** Those that are drawn, if they are others than of most runs. */
  phases?: readonly Phase[];
  /** Whether hidden communication is drawn. */
  hidden?: boolean;
}

/** The colours of the phases, and of hidden communication where that is drawn. */
export function PhaseKey({ phases = USUAL, hidden }: PhaseKeyProps) {
  return (
    <ul className={styles.key} aria-label="Phases">
      {phases.map((phase) => (
        <li key={phase} title={MEANINGS[phase]}>
          <span className={`${styles.swatch} ${styles[phase]}`} />
          {phase}
        </li>
      ))}
      {hidden && (
        <li title="Transfers that overlap forward and backward">
          <span className={styles.swatch} style={{ background: HIDDEN }} />
          communicate, hidden
        </li>
      )}
    </ul>
  );
}
