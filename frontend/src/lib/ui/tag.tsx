import styles from "./ui.module.css";

const MEANINGS = {
  simulated: "Computed in virtual time: its seconds are not wall-clock seconds.",
  oversubscribed: "More ranks than cores: communication time includes waiting for a core.",
  overlapped: "Another cluster used the same machine at the same time: the times cannot be trusted.",
} as const;

export function Tag({ kind }: { kind: keyof typeof MEANINGS }) {
  return (
    <span className={`${styles.tag} ${styles[kind]}`} title={MEANINGS[kind]} data-range>
      {kind}
    </span>
  );
}
