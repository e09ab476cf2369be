import styles from "./ui.module.css";

/** A figure over the interval behind it; the second line is always there, so rows never change height. */
export function Figure({ value, range }: { value: string; range?: string }) {
  return (
    <>
      {value}
      <span className={styles.range} data-range>
        {range || "\u00a0"}
      </span>
    </>
  );
}
