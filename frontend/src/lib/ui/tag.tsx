import styles from "./ui.module.css";

const MEANINGS = {
  simulated: "Computed in virtual time: its seconds are not those of a clock on a wall.",
  oversubscribed:
    "More ranks than cores: communication figures say more about the scheduler than the network.",
} as const;

export function Tag({ kind }: { kind: keyof typeof MEANINGS }) {
  return (
    <span className={`${styles.tag} ${styles[kind]}`} title={MEANINGS[kind]}>
      {kind}
    </span>
  );
}
